// Mutation runs every test many times: only the tests beside the mutated code, which are pure and quick.

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/{grants,policy,evidence,fence}/**/*.test.ts'],
    // Long loops run a fiftieth of their way, so that they can run once for every change.
    env: { SHORT_LOOPS: '1' },
    testTimeout: 300_000,
  },
})
