// The tests of which `npm test` runs a sample: whole sweeps, conformance and kill trials.

import { runTests } from './support/tests.ts'

await runTests({ TEST_LONG: '1' })
