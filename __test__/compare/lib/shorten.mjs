/** Shortens a sequence whose failure can only be seen from outside, because the process dies of it. */

/**
 * Leaves out runs of commands, long ones first, and then fixtures, as long as `fails` still holds. Ends
 * at the time `until` (ms) with the shortest sequence found; each try starts a process.
 */
export async function shorten(plan, fails, until) {
  let best = plan;
  const attempt = async (shorter) => {
    if (Date.now() < until && (await fails(shorter))) {
      best = shorter;
      return true;
    }
    return false;
  };
  for (let size = best.commands.length; size >= 1; size = size >> 1) {
    let at = best.commands.length - size;
    while (at >= 0) {
      await attempt({ ...best, commands: best.commands.toSpliced(at, size) });
      at -= size;
    }
  }
  if (best.fixtures.length > 0) {
    await attempt({ ...best, fixtures: [] });
  }
  return best;
}
