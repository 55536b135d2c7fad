// Everything a change must pass, cheapest first; stops at the first failure.

import { passed, run } from './support/run.ts'
import { runTests } from './support/tests.ts'

const start = Date.now()
run({ name: 'format and lint', command: 'biome', args: ['check', '--error-on-warnings', '.'] })
run({ name: 'types', command: 'tsc', args: ['-p', 'tsconfig.json'] })
run({ name: 'unused code', command: 'knip', args: ['--no-progress'] })
await runTests()
passed('all checks', start)
