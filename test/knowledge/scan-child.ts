// Finds and reads all packs below a folder, in a process of its own that others watch or confine.

import { openPackFiles } from '../../src/runtime/knowledge/pack-files.ts'
import { makeScanner, type RootOptions } from '../../src/runtime/knowledge/scan.ts'

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
process.stdout.write(JSON.stringify({ packs: scan.packs.map(({ id }) => id), quarantined, told, texts }))
