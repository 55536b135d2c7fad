// Compiles the sample in a process of its own and prints it.

import { compiled, evidenceOf, sourceOf } from '../support/contract.ts'

const sources = [sourceOf('a', 'one', { priority: 3 }), sourceOf('b', 'two', { bucket: 'memory' })]
const facts = process.argv.includes('plain') ? {} : { sources, evidence: [evidenceOf('kg:batch:1#snapshot_1', 1)] }
process.stdout.write(JSON.stringify(compiled({ facts })))
