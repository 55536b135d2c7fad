// Compiles the sample in a process of its own and prints it.

import { compiled, evidenceOf, sourceOf } from '../support/contract.ts'

const sources = [sourceOf('a', 'one', { priority: 3 }), sourceOf('b', 'two', { bucket: 'memory' })]
process.stdout.write(
  JSON.stringify(compiled({ facts: { sources, evidence: [evidenceOf('kg:batch:1#snapshot_1', 1)] } })),
)
