/**
 * Turns any value into plain JSON that shows everything the comparison is about: types, own keys and
 * their order, prototypes, undefined values and - through serial numbers - which objects are the same.
 */

const SHOWN_WHOLE = Number(process.env.COMPARE_SHOWN ?? 300);

/** Long strings are shown by length, hash and both ends. */
export function showString(value) {
  if (typeof value !== "string" || value.length <= SHOWN_WHOLE) {
    return value;
  }
  const hash = Bun.hash(Buffer.from(value, "utf16le")).toString(36);
  return `<${value.length} units #${hash} ${value.slice(0, 40)}…${value.slice(-60)}>`;
}

function showNumber(value) {
  return Number.isFinite(value) && !Object.is(value, -0)
    ? value
    : { $number: Object.is(value, -0) ? "-0" : String(value) };
}

function prototypeName(value) {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) {
    return "null";
  }
  return prototype === Object.prototype ? undefined : (prototype.constructor?.name ?? "?");
}

/** Keys that loading leaves with the value undefined; they are gone after a rewrite. */
const DROPPED = ["providerPayload", "thinkingSignature", "firstKeptEntryId"];

/**
 * Keys that are not compared: the package from npm does not know who gave a title (the harness asks for
 * that separately), and dropped metadata may be undefined or absent.
 */
function isHidden(value, key) {
  const isTitleSource = key === "titleSource" && value.type === "session";
  return isTitleSource || (DROPPED.includes(key) && value[key] === undefined);
}

/**
 * A lens keeps the serial numbers of one run of one implementation. The same object always gets the same
 * number, so equal traces mean equal identities. Within one observation an object is spelt out once.
 */
export class Lens {
  #serial = new WeakMap();
  #same = new WeakMap();
  #next = 1;
  #seen = new Set();

  /** Starts a new observation: objects are spelt out again. */
  refresh() {
    this.#seen = new Set();
  }

  number(object) {
    const first = this.#same.get(object);
    if (first !== undefined) {
      return this.number(first);
    }
    let number = this.#serial.get(object);
    if (number === undefined) {
      number = this.#next++;
      this.#serial.set(object, number);
    }
    return number;
  }

  /** Lets `other` count as the same object as `object`. */
  alias(object, other) {
    if (other !== object) {
      this.#same.set(other, object);
    }
  }

  view(value) {
    switch (typeof value) {
      case "string":
        return showString(value);
      case "number":
        return showNumber(value);
      case "undefined":
        return { $undefined: 1 };
      case "bigint":
        return { $bigint: String(value) };
      case "symbol":
        return { $symbol: 1 };
      case "function":
        return { $function: this.number(value) };
      default:
        return value !== null && typeof value === "object" ? this.#object(value) : value;
    }
  }

  #object(value) {
    const number = this.number(value);
    if (this.#seen.has(value)) {
      return { $same: number };
    }
    this.#seen.add(value);
    if (value instanceof Date) {
      return { $date: Number.isNaN(value.getTime()) ? "invalid" : value.toISOString(), $: number };
    }
    if (ArrayBuffer.isView(value)) {
      return {
        $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"),
        $: number,
      };
    }
    if (Array.isArray(value)) {
      const items = [];
      for (let i = 0; i < value.length; i++) {
        items.push(i in value ? this.view(value[i]) : { $hole: 1 });
      }
      return { $array: items, $: number };
    }
    const keys = Object.keys(value).filter((key) => !isHidden(value, key));
    const out = { $keys: keys.join("\u241f"), $: number };
    const prototype = prototypeName(value);
    if (prototype !== undefined) {
      out.$proto = prototype;
    }
    keys.forEach((key, i) => {
      const descriptor = Object.getOwnPropertyDescriptor(value, key);
      const shown = this.view(value[key]);
      out[`${i}:${key}`] = descriptor && "get" in descriptor ? { $accessor: shown } : shown;
    });
    return out;
  }

  /**
   * How a call failed. Texts made by the engine (TypeError, RangeError) and by the system (those with an
   * error number) differ between runtimes and are no part of the contract.
   */
  error(error, how) {
    if (!(error instanceof Error)) {
      return { [how]: this.view(error), notAnError: true };
    }
    if (error instanceof TypeError || error instanceof RangeError) {
      return { [how]: error.name };
    }
    if (/^E[A-Z]+$/.test(error.code ?? "")) {
      return { [how]: error.name, code: error.code };
    }
    const out = { [how]: error.name, message: error.message };
    if (error.code !== undefined) {
      out.code = error.code;
    }
    return out;
  }
}
