import { z } from 'zod'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { disarm } from '../fence/disarm.ts'
import { covers } from '../grants/cover.ts'
import type { CatalogEntry } from '../knowledge/catalog.ts'
import type { Diagnostic } from '../knowledge/diagnostic.ts'
import { type Passage, type PassageRef, readRef } from '../knowledge/passages.ts'
import { type Found, type Run, tool } from './answer.ts'
import { defineProvider, type Provider } from './define.ts'
import type { ResourceToolContext } from './provider.ts'

/** The packs that one session, or one run without a session, sees. Their texts stand in fences. */
export interface KnowledgeView {
  /** The namespace paths that its packs stand at; empty: the root of the tenant. */
  readonly places: readonly string[]
  catalog(): Promise<readonly CatalogEntry[]>
  /** The guide of a pack with the list of its files; no text where the session has it `already`. */
  open(name: string): Promise<{ text: string; already: boolean; warnings: readonly Diagnostic[] }>
  /** The best passages for a question, of the packs that are ranked or else of those that fit; or one section. */
  resolve(request: {
    readonly query: string
    readonly ranked?: readonly string[]
    readonly implicit?: boolean
    readonly passages?: number
    readonly section?: PassageRef
  }): Promise<{ passages: readonly Passage[]; trace: { readonly findings: readonly Finding[] } }>
}

type Finding = Omit<Diagnostic, 'code'> & { readonly code: string }

export interface KnowledgeSource {
  /** The packs at and below the grants, and of those above only the ones at these paths or at the root of the tenant. */
  view(reach: { readonly grants: readonly string[]; readonly above: readonly string[] }, session: string): KnowledgeView
}

const input = {
  catalog: z.strictObject({}),
  search: z.strictObject({
    query: z.string().min(1).max(limits.knowledgeQueryCharsMax).describe('A question, in the words of its subject.'),
    packs: z.array(z.string()).min(1).max(16).optional().describe('Names of packs; else those that fit the question.'),
    limit: z.int().min(1).max(20).optional().describe('How many at most; 8 unless said otherwise.'),
  }),
  open: z.strictObject({
    ref: z.string().min(1).max(4_096).describe('The name of a pack for its guide, or `ref` of a passage for its text.'),
  }),
}

/** Knowledge packs, as far as the grants of a run reach. */
export function knowledge(source: KnowledgeSource): Provider {
  const seeing =
    <In>(look: Look<In>): Run<In> =>
    async (given, context) => {
      const { view, top } = viewOf(source, context)
      return { result: await look(given, view), scopes: [...new Set(view.places.map((place) => place || top))] }
    }
  return defineProvider({
    kind: 'knowledge',
    maxMode: 'read',
    reads: ['at', 'down', 'up'],
    tools: {
      catalog: tool(
        'Lists knowledge packs: what each is about, how far it is trusted.',
        input.catalog,
        seeing(catalog),
      ),
      search: tool('Finds passages of knowledge packs that answer a question.', input.search, seeing(search)),
      open: tool('Gives the guide of a knowledge pack, or a passage that was found.', input.open, seeing(open)),
    },
  })
}

type Look<In> = (input: In, view: KnowledgeView) => Promise<Found['result']>

/** What lies above the grants is reached as far as the scopes of the store go: up to the root of the tenant. */
function viewOf(source: KnowledgeSource, { grants, store, run }: ResourceToolContext) {
  const above = store.scopes.filter((scope) => grants.some((grant) => covers(scope, grant)))
  const { tenantId, agentId, sessionId, runId } = run
  const session = JSON.stringify([tenantId, agentId, sessionId ?? [runId]])
  const view = source.view({ grants, above }, session)
  return { view, top: above.toSorted((one, other) => one.length - other.length)[0] ?? grants[0] ?? '' }
}

const catalog: Look<unknown> = async (_, view) => ({
  packs: (await view.catalog()).map(({ name, description, type, status, version, trust }) => ({
    name,
    description: disarm(description).text,
    type,
    status,
    version: version === undefined ? null : disarm(version).text,
    trust,
  })),
})

const search: Look<z.infer<typeof input.search>> = async ({ query, packs, limit = 8 }, view) => {
  const among = packs === undefined ? {} : { ranked: packs, implicit: false }
  const { passages, trace } = await view.resolve({ query, ...among, passages: limit })
  const shown = passages.map(({ ref, pack, path, anchor, text, hash }) => ({ ref, pack, path, anchor, text, hash }))
  return { passages: shown, warnings: tell(trace.findings) }
}

const open: Look<z.infer<typeof input.open>> = async ({ ref }, view) => {
  const section = readRef(ref)
  if (section === undefined) {
    const { text, already, warnings } = await view.open(ref)
    return { text, already, warnings: tell(warnings) }
  }
  const { passages, trace } = await view.resolve({ query: ref, section })
  const [found] = passages
  if (found === undefined)
    throw new Failure('pack.not_found', `${quote(ref)} is no passage that can be opened`, { ref })
  const { text, sourceAnchors, hash, truncated } = found
  return { text, sourceAnchors: [...sourceAnchors], hash, truncated, warnings: tell(trace.findings) }
}

const tell = (warnings: readonly Finding[]) =>
  warnings.slice(0, limits.knowledgeWarningsShownMax).map(({ code, severity, path, message }) => ({
    code,
    severity,
    message: disarm(path === '' ? message : `${path}: ${message}`).text,
  }))
