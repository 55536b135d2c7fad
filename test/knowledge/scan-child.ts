// Finds, reads and resolves all packs below a folder, in a process of its own that others watch or confine.

import { openKnowledge } from '../../src/runtime/knowledge/knowledge.ts'
import { openPackFiles } from '../../src/runtime/knowledge/pack-files.ts'
import type { RootOptions } from '../../src/runtime/knowledge/roots.ts'
import { makeScanner } from '../../src/runtime/knowledge/scan.ts'

const [path = '', links] = process.argv.slice(2)
const root: RootOptions = { id: 'w', scope: 'workspace', path, links: links === 'within-root' ? links : 'none' }
const scan = await makeScanner().scan([root])
const texts: string[] = []
for (const pack of [...scan.packs, ...scan.quarantined]) {
  const files = await openPackFiles(root, pack)
  const { files: listed, diagnostics } = await files.list()
  const named = diagnostics.map(({ path: left }) => left)
  for (const file of [...listed.map(({ path: found }) => found), ...named, '../../outside/secret.md', '/etc/passwd']) {
    const read = await files.read(file)
    if ('text' in read) texts.push(read.text)
  }
}
const quarantined = scan.quarantined.map(
  ({ id, diagnostics }) => `${id} ${diagnostics.map(({ code }) => code).join(' ')}`,
)
const told = scan.diagnostics.map(({ code, path: at }) => `${code} ${at}`)

// Every pack is named and confirmed, so that each is opened and chosen from; then the question alone has to find one.
const knowledge = openKnowledge({ roots: [root], seed: new Uint8Array(16) })
const ids = scan.packs.map(({ id }) => id)
const resolved: string[] = []
for (const select of [...[...ids, ...scan.quarantined.map(({ id }) => id)].map((id) => [id]), ids, []]) {
  const request = { query: 'What is good, inside or outside?', select, confirm: ids, evidence: true }
  resolved.push((await knowledge.resolve(request)).text)
}
process.stdout.write(JSON.stringify({ packs: ids, quarantined, told, texts, resolved }))
