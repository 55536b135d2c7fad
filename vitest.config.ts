import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // No test asserts a time: this only ends one that hangs, on the slowest machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
