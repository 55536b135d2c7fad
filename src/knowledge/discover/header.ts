import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import type { PackHeader } from '../../model/knowledge/knowledge.ts'
import { type Diagnostic, type DiagnosticCode, diagnostic } from '../diagnostic.ts'
import { cleanValue, clip } from './clean.ts'
import { fieldsOf, type Report } from './fields.ts'
import { cutFrontmatter, type Trouble } from './frontmatter.ts'
import { type HeaderOptions, headerOf } from './header-fields.ts'
import { readPlain } from './plain-yaml.ts'
import { readYaml, type YamlMap } from './yaml.ts'

/** The one name of an entry file, as it must be spelled. */
export const entryName = 'KNOWLEDGE.md'

export interface ReadHeader {
  /** Missing: the pack is quarantined, and the diagnostics say why. */
  readonly header?: PackHeader | undefined
  readonly extra: { readonly [key: string]: Json }
  /** SHA-256 of the frontmatter as written, in hex; empty where there is none. */
  readonly digest: string
  /** What the pack calls itself, where that could be read. */
  readonly name?: string | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/** The frontmatter at the head of an entry file. `folder` is the name of its directory, empty if unknown. */
export function readHeader(
  bytes: Uint8Array,
  where: { readonly id: string; readonly folder: string },
  options: HeaderOptions = {},
): ReadHeader {
  const diagnostics: Diagnostic[] = []
  const report: Report = (code, message) => diagnostics.push(diagnostic(code, entryName, message, { pack: where.id }))
  const broken = ({ trouble, why }: Trouble, digest: string): ReadHeader => {
    report(trouble, why)
    return { extra: {}, digest, diagnostics }
  }
  const frontmatter = cutFrontmatter(bytes)
  if ('trouble' in frontmatter) return broken(frontmatter, '')
  const { text, digest } = frontmatter
  const read = readMap(text)
  if ('trouble' in read) return broken(read, digest)
  const fields = fieldsOf(read.map, report)
  const header = headerOf(fields, where.folder, options, report)
  const usable = !diagnostics.some(({ code }) => fatal.has(code))
  const name = clip(cleanValue(header.name), limits.knowledgeNameCharsMax)
  const extra = fields.rest()
  return { ...(usable && { header }), extra, digest, ...(name !== '' && { name }), diagnostics }
}

function readMap(text: string): { readonly map: YamlMap } | Trouble {
  const map = readPlain(text)
  return map === undefined ? readYaml(text) : { map }
}

/** Findings that keep a pack out of the catalog. */
const fatal: ReadonlySet<DiagnosticCode> = new Set(['field-missing', 'name-invalid', 'field-type', 'type-unknown'])
