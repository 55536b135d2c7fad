import { defineConfig } from 'vitest/config'

export default defineConfig({
  // A configuration imports us by name, wherever it lies; in a test, as Node itself would find us.
  resolve: { alias: { ambit: new URL('src/index.ts', import.meta.url).pathname } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // No test asserts a time: this only ends one that hangs, on the slowest machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
