// Whole sweeps take minutes: `npm test` runs a sample of each, `npm run test:long` the whole.

export const isLong = process.env['TEST_LONG'] !== undefined

/** How many cases a sweep runs. `vitest.config.ts` finds the tests with a long form by their import of this file. */
export const sweep = (sample: number, whole: number): number => (isLong ? whole : sample)
