import type { PackContent, PackText } from '../../src/knowledge/author/pack-content.ts'
import { entryName, readHeader } from '../../src/knowledge/discover/header.ts'
import type { PackHeader } from '../../src/model/knowledge/knowledge.ts'

export const givenHeader = (change: Partial<PackHeader> = {}): PackHeader => ({
  name: 'pumps',
  description: 'Limits and spare parts of our pumps. Use it for questions about pressure and repair.',
  type: 'domain-reference',
  status: 'ready',
  profile: 'wiki-first',
  mode: 'data',
  trust: 'user-confirmed',
  grounding: 'none',
  maintainers: [],
  ...change,
})

/** A pack with these files; a value that is no text is written as JSON. */
export function givenContent(files: Readonly<Record<string, unknown>>, change: Partial<PackHeader> = {}): PackContent {
  const texts = Object.entries(files).map(([path, value]) => ({
    path,
    text: typeof value === 'string' ? value : JSON.stringify(value),
  }))
  return { header: givenHeader(change), paths: texts.map(({ path }) => path).sort(), files: texts }
}

/** Files as whoever opens the pack would read them, and what reading the entry file finds. */
export function readFiles(files: readonly PackText[], folder: string) {
  const entry = files.find(({ path }) => path === entryName)
  const read = readHeader(Buffer.from(entry?.text ?? ''), { id: folder, folder })
  const content = read.header && { header: read.header, paths: files.map(({ path }) => path), files }
  return { content, diagnostics: read.diagnostics }
}
