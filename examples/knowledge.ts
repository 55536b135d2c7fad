// Writes a small knowledge pack into a folder of its own and asks it two questions.
// Run it with `npx node examples/knowledge.ts`.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openKnowledge } from '../src/runtime/knowledge/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-example-'))
try {
  writeExample()
  await main()
} finally {
  rmSync(folder, { recursive: true })
}

async function main(): Promise<void> {
  // cut: resolve
  const knowledge = openKnowledge({ roots: [{ path: folder, scope: 'organisation' }] })
  const { text, tokens, blocks, trace } = await knowledge.resolve({
    query: 'How warm may a vaccine batch get?',
    budget: 500,
  })
  // end
  console.log(`${trace.outcome} with ${tokens} tokens in ${blocks.length} block`)
  console.log(text.includes('between 2 and 8') ? 'the answer is there' : 'the answer is not there')
  const other = await knowledge.resolve({ query: 'Who won the match on Sunday?' })
  console.log(`${other.trace.outcome}: "${other.text}"`)
}

function writeExample(): void {
  mkdirSync(join(folder, 'cold-chain/documents'), { recursive: true })
  writeFileSync(
    join(folder, 'cold-chain/KNOWLEDGE.md'),
    `---
name: cold-chain
description: "How vaccine batches are stored: temperature, warm and cold. Use for questions about a batch in the cold store."
type: domain-reference
status: ready
profile: document-first
trust: official
metadata:
  primaryDocument: documents/storage.md
---

# Cold chain
`,
  )
  const text =
    '# Storage\n\n## Temperature\n\nA vaccine batch may get no warmer than 8 °C: it is kept between 2 and 8 °C.\n'
  writeFileSync(join(folder, 'cold-chain/documents/storage.md'), text)
}
