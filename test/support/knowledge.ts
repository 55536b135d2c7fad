import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Diagnostic } from '../../src/knowledge/diagnostic.ts'
import type { Permissions } from '../../src/knowledge/gates.ts'
import type { Pack } from '../../src/knowledge/pack.ts'
import type { PackHeader, PackTrust, RootScope } from '../../src/model/knowledge/knowledge.ts'
import type { ResolutionTrace } from '../../src/model/knowledge/trace.ts'

interface Given extends Partial<PackHeader> {
  readonly in?: RootScope
  readonly effective?: PackTrust
  readonly path?: string
  readonly order?: number
  readonly at?: string
}

/** A pack as discovery would give it: ready, official, of an organisation, unless it is said otherwise. */
export function packOf(given: Given = {}): Pack {
  const { in: scope = 'organisation', effective = 'official', order = 0, at = '', ...header } = given
  const { name = 'pumps' } = header
  const path = given.path ?? name
  return {
    id: `${scope}:${path}`,
    root: scope,
    scope,
    order,
    path,
    at,
    trust: effective,
    digest: '0'.repeat(64),
    extra: {},
    diagnostics: [],
    header: {
      description: `All about ${name}.`,
      type: 'domain-reference',
      status: 'ready',
      profile: 'document-first',
      mode: 'data',
      trust: effective,
      grounding: 'none',
      maintainers: [],
      ...header,
      name,
    },
  }
}

/** Nobody has said anything about any pack. */
export const noPermissions: Permissions = { approved: () => false, confirmed: () => false }

export const codesOf = (diagnostics: readonly Diagnostic[]): readonly string[] => diagnostics.map(({ code }) => code)

/** A trace of a question that nothing answered, unless it is said otherwise. */
export const traceOf = (given: Partial<ResolutionTrace> = {}): ResolutionTrace => ({
  run_id: 'context-2026-05-06T09-10-00-000Z-0001',
  at: '2026-05-06T09:10:00.000Z',
  query: 'how hot may it get?',
  query_digest: 'd1',
  outcome: 'nothing',
  resolver: { tool: 'ambit', version: '0.1.0' },
  catalog_hash: 'sha256:0',
  roots: [],
  activated: [],
  refused: [],
  considered: [{ id: 'user:pumps', score: 1.5, confidence: 0.2 }],
  dropped: [],
  missing: [],
  findings: [],
  token_estimate: 0,
  timings_ms: {},
  ...given,
})

/** Writes a pack into a folder of knowledge: its frontmatter, its guide and its files. */
export function writePackIn(
  root: string,
  path: string,
  header: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): void {
  const name = path.split('/').at(-1) ?? path
  const fields = { name, description: `All about ${name}.`, type: 'domain-reference', status: 'ready', ...header }
  const front = Object.entries({ profile: 'document-first', trust: 'official', ...fields }).map(
    ([key, value]) => `${key}: ${JSON.stringify(value)}`,
  )
  const all = { 'KNOWLEDGE.md': `---\n${front.join('\n')}\n---\n\n# Guide\n`, ...files }
  for (const [file, text] of Object.entries(all)) {
    const target = join(root, path, file)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
}
