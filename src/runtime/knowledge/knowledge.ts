import { randomBytes } from 'node:crypto'
import { Failure, quote } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { covers } from '../../grants/cover.ts'
import { parseGrant } from '../../grants/parse.ts'
import { activate, collisionsIn } from '../../knowledge/activate.ts'
import { type CatalogEntry, catalogOf, catalogText } from '../../knowledge/catalog.ts'
import type { Permissions } from '../../knowledge/gates.ts'
import type { Pack } from '../../knowledge/pack.ts'
import { type WrappedGuide, wrapGuide } from '../../knowledge/select/wrap-guide.ts'
import { makeTokenCounter } from '../../tokens/count.ts'
import { approvedPacks, type PackApproval } from './approvals.ts'
import { type Evaluation, evaluate } from './evaluate.ts'
import { makeLibrary } from './library.ts'
import { keepResolution } from './records.ts'
import type { Resolution, ResolveRequest } from './resolution.ts'
import { type ResolveDeps, resolveQuery } from './resolve.ts'
import { type KnowledgeRoot, type RootOptions, settleRoots } from './roots.ts'
import { makeRouting } from './routing.ts'
import { makeScanner, type Scan, type ScanOptions } from './scan.ts'
import { makeSuiteReader, type SuiteName, type SuiteReader } from './suites.ts'
import { watchRoots } from './watch.ts'

export interface KnowledgeOptions extends Pick<ScanOptions, 'types' | 'ignored' | 'gitignore'> {
  /** Where packs lie; a text is a folder of the workspace. */
  readonly roots: readonly (string | KnowledgeRoot)[]
  /** Only these may be used: names, ids or scopes. */
  readonly enable?: readonly string[] | undefined
  readonly disable?: readonly string[] | undefined
  /** Untrusted packs that a person lets be used. */
  readonly approve?: readonly PackApproval[] | undefined
  /** Where resolutions are kept; without it they are not. With `digest` the question itself is withheld. */
  readonly records?: { readonly folder: string; readonly query?: 'text' | 'digest' | undefined } | undefined
  /** The secret of the run, at least 16 bytes: equal questions then give equal bytes. Without it, one is made for each call. */
  readonly seed?: Uint8Array | undefined
  readonly now?: (() => number) | undefined
}

/** Knowledge packs below some roots. Files that change are seen by the next call. */
export interface Knowledge {
  /** All packs, those that cannot be used among them, and what is wrong. */
  discover(): Promise<Scan>
  /** The packs that may be asked for. */
  catalog(): Promise<readonly CatalogEntry[]>
  /** The catalog as a model sees it, within a budget of tokens; empty where there is no pack. */
  catalogText(budget?: number): Promise<string>
  /** What a model is to see of the packs for a question, and why. */
  resolve(request: ResolveRequest): Promise<Resolution>
  /** The guide of a pack with the list of its files; a second time, while the pack is as it was, only a word that it is open. */
  open(name: string, budget?: number): Promise<WrappedGuide & { readonly already: boolean }>
  /** Whether questions find the packs they should, by the suites of the packs. */
  evaluate(suite: SuiteName): Promise<Evaluation>
  /**
   * The same packs as far as these namespace grants reach: at their node, below it, and above it: up to the root of the tenant,
   * or only at the paths of `above`.
   */
  under(grants: readonly string[], above?: readonly string[]): Knowledge
  /** The namespace paths that its packs stand at; empty: the root of the tenant. */
  readonly places: readonly string[]
  /** Tells when something may have changed, until what it answers is called. */
  watch(onChange: () => void): () => void
}

/** Looks for knowledge packs below the roots. Nothing in them is executed, obeyed or trusted. */
export function openKnowledge(options: KnowledgeOptions): Knowledge {
  const roots = settleRoots(options.roots, process.cwd())
  const counter = makeTokenCounter({ entriesMax: limits.knowledgeFilesKeptMax })
  const now = options.now ?? Date.now
  const library = makeLibrary({ roots, count: counter.count, now })
  const suites = makeSuiteReader(library)
  const routerFor = makeRouting(suites)
  return view({ options, roots, library, suites, routerFor, count: counter.count, now }, undefined)
}

interface Shared extends Pick<ResolveDeps, 'library' | 'routerFor' | 'count' | 'now'> {
  readonly options: KnowledgeOptions
  readonly roots: readonly RootOptions[]
  readonly suites: SuiteReader
}

/** What grants do not reach is not even looked at, so nothing can be told of it. */
function view(shared: Shared, reach: Reach | undefined): Knowledge {
  const { options, library, routerFor, count, now } = shared
  const roots = reach === undefined ? shared.roots : shared.roots.filter(({ at = '' }) => isReached(at, reach))
  const scanner = makeScanner({ now })
  const open = new Set<string>()

  const look = async (request: Partial<ResolveRequest> = {}) => {
    const scan = await scanner.scan(roots, options)
    return { scan, permissions: await permissionsFor(shared, scan, request) }
  }
  const seed = () => options.seed ?? randomBytes(16)
  const resolve = async (request: ResolveRequest) =>
    resolveQuery(request, { ...(await look(request)), library, routerFor, count, now, seed: seed() })
  const catalog = async () => {
    const { scan, permissions } = await look()
    return catalogOf(scan.packs, permissions)
  }

  return {
    discover: async () => {
      const { scan, permissions } = await look()
      return { ...scan, diagnostics: [...scan.diagnostics, ...collisionsIn(scan.packs, permissions)] }
    },
    catalog,
    catalogText: async (budget = limits.knowledgeCatalogTokens) =>
      catalogText(await catalog(), { seed: seed(), budget, count }),
    resolve: async (request) => {
      const resolution = await resolve(request)
      if (options.records !== undefined && request.section === undefined) await keep(options.records, resolution)
      return resolution
    },
    evaluate: async (suite) => evaluate(suite, { ...(await look()), suites: shared.suites, routerFor, resolve }),
    open: async (name, budget = limits.knowledgeBudgetTokens) => {
      const { scan, permissions } = await look()
      const { activated, refused } = activate(scan, { select: [name], permissions }, nothingElse)
      const [found] = activated
      if (found === undefined) throw notOpened(name, refused[0]?.diagnostics[0]?.message)
      const { pack, warnings } = found
      const { guide, paths } = (await library.open(pack)).facts
      const key = `${pack.id} ${pack.digest} ${sha256(guide)}`
      const already = open.has(key)
      open.add(key)
      if (already) return { text: '', tokens: 0, warnings, already }
      return { ...wrapGuide({ pack, guide, paths, warnings, seed: seed(), budget, count }), already }
    },
    under: (grants, above) => view(shared, narrowed(reach, { grants: grants.map(parseGrant), above })),
    places: [...new Set(roots.map(({ at = '' }) => at))],
    watch: (onChange) => watchRoots(roots, onChange),
  }
}

const nothingElse = () => ({ ids: [], decision: undefined })

const notOpened = (name: string, why = 'there is no such pack'): Failure =>
  new Failure('pack.not_found', `knowledge pack ${quote(name)} cannot be opened: ${why}`, { name })

interface Reach {
  readonly grants: readonly string[]
  /** The only paths above the grants that are reached; undefined: all. */
  readonly above: readonly string[] | undefined
}

/** Grants only narrow: of new ones only what the old ones cover counts. */
function narrowed(held: Reach | undefined, { grants, above }: Reach): Reach {
  if (held === undefined) return { grants, above }
  const covered = grants.filter((path) => held.grants.some((grant) => covers(grant, path)))
  return { grants: covered, above: held.above?.filter((path) => above?.includes(path) ?? true) ?? above }
}

const isReached = (at: string, { grants, above }: Reach): boolean =>
  grants.some((grant) => at === '' || covers(grant, at) || (covers(at, grant) && (above?.includes(at) ?? true)))

async function permissionsFor(
  { options, library, roots }: Shared,
  scan: Scan,
  { enable, disable = [], confirm = [] }: Partial<ResolveRequest>,
): Promise<Permissions> {
  const approved = await approvedPacks(options.approve ?? [], scan.packs, { library, roots })
  const confirmed = (pack: Pack) => confirm.some((word) => word === pack.id || word === pack.header.name)
  return {
    enable: [options.enable, enable].filter((list) => list !== undefined),
    disable: [...(options.disable ?? []), ...disable],
    approved: (pack) => approved.get(pack.id) === true || confirmed(pack),
    lapsed: (pack) => approved.get(pack.id) === false,
    confirmed,
  }
}

async function keep(records: NonNullable<KnowledgeOptions['records']>, { record, trace }: Resolution): Promise<void> {
  if (records.query !== 'digest') return keepResolution(records.folder, { record, trace })
  const { query: _, ...rest } = trace
  const missing = trace.missing.map(digestText)
  // The words that matched are words of the question.
  const activated = trace.activated.map((pack) => ({
    ...pack,
    sections: pack.sections.map((section) => ({ ...section, matched: [] })),
  }))
  await keepResolution(records.folder, {
    record: record && { ...record, query: digestText(record.query), missing },
    trace: { ...rest, missing, activated },
  })
}

const digestText = (text: string): string => `sha256:${sha256(text)}`
