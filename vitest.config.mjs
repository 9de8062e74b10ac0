import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globals: false,
    include: ["__test__/**/*.test.ts"],
    // These have runners of their own: one needs packages from npm, the other packed tarballs.
    exclude: ["**/node_modules/**", "__test__/compare/**", "__test__/package/**"],
    // Processes, not threads: tests change environment variables and start workers themselves.
    pool: "forks",
    // A busy machine with two cores must not turn a slow test into a failed one.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 20_000,
    // A spy or a changed variable left behind by one test must not decide the next.
    restoreMocks: true,
    unstubEnvs: true,
  },
});
