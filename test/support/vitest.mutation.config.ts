// Mutation runs every test many times: only the tests beside the mutated code, which are pure and quick.

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/{grants,policy,evidence,fence}/**/*.test.ts'],
    testTimeout: 300_000,
  },
})
