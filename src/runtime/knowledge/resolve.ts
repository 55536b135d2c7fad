import { randomBytes } from 'node:crypto'
import { objectHash } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { formatTime } from '../../base/time.ts'
import { version } from '../../base/version.ts'
import { type Activation, activate, usable } from '../../knowledge/activate.ts'
import { catalogOf } from '../../knowledge/catalog.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import { isEnabled, needsApproval, type Permissions, refusalOf } from '../../knowledge/gates.ts'
import { chooseSection, divideChoice, passageOf } from '../../knowledge/passages.ts'
import { recordOf, runIdOf } from '../../knowledge/record.ts'
import type { Routing } from '../../knowledge/route/route.ts'
import { choose } from '../../knowledge/select/choose.ts'
import { sectionDigest } from '../../knowledge/select/file-index.ts'
import type { Choice, ChosenSection, PackFacts } from '../../knowledge/select/selection.ts'
import { type Wrapped, wrap } from '../../knowledge/select/wrap.ts'
import type { Library, OpenPack } from './library.ts'
import type { Resolution, ResolveRequest } from './resolution.ts'
import type { RouterFor } from './routing.ts'
import type { Scan } from './scan.ts'
import { traceOf } from './trace.ts'

export interface ResolveDeps {
  readonly scan: Scan
  readonly permissions: Permissions
  readonly library: Library
  readonly routerFor: RouterFor
  readonly count: (text: string) => number
  readonly now: () => number
  readonly seed: Uint8Array
}

/** The smallest useful part of the packs that may be used for a question. */
export async function resolveQuery(request: ResolveRequest, deps: ResolveDeps): Promise<Resolution> {
  const timer = makeTimer()
  const { query, budget = limits.knowledgeBudgetTokens } = request
  const { count, seed } = deps
  const { section, passages } = request
  const named = section && { query, select: [section.pack], implicit: false }
  const activation = await activateFor(named ?? request, deps)
  timer.lap('activate')
  const opened = await openAll(activation, deps)
  timer.lap('open')
  const { evidence, required } = request
  const chosen = await chooseFrom(opened, (packs) =>
    section ? chooseSection(packs[0], section) : choose({ query, packs, budget, evidence, required, count }),
  )
  const choice = passages === undefined ? chosen : divideChoice(chosen, passages)
  timer.lap('select')
  const texts = await readChosen(choice, opened)
  timer.lap('read')
  const wrapped = wrap({ choice, textOf: (section) => texts.get(section), seed, budget, count })
  timer.lap('wrap')

  const at = formatTime(deps.now())
  const runId = runIdOf(at, randomBytes(6).toString('hex'))
  const diagnostics = [
    ...(wrapped.packs.length === 0 ? waiting(deps) : []),
    ...opened.flatMap(({ open }) => [...open.listing, ...open.reading]),
    ...choice.diagnostics,
    ...wrapped.diagnostics,
  ]
  const failed = diagnostics.some(({ code }) => failing.has(code))
  const record = recordOf({
    runId,
    query,
    used: wrapped.packs,
    missing: choice.missing.map(({ fact }) => fact),
    tokens: wrapped.tokens,
    failed: activation.refused.length > 0 || failed,
    version,
  })
  const trace = traceOf({
    runId,
    at,
    query,
    activation,
    choice,
    wrapped,
    diagnostics,
    scan: deps.scan,
    timings: timer.laps,
    failed,
    catalogHash: catalogHash(deps),
  })
  const apart = passages === undefined && section === undefined ? [] : wrapped.packs.map(passageOf)
  return { text: wrapped.text, tokens: wrapped.tokens, blocks: blocksOf(wrapped), passages: apart, record, trace }
}

/** Where nothing was used: what might have been, had somebody approved it. */
const waiting = ({ scan, permissions }: ResolveDeps): readonly Diagnostic[] =>
  scan.packs
    .filter((pack) => isEnabled(pack, permissions) && needsApproval(pack, permissions))
    .flatMap((pack) => refusalOf(pack, 'found', permissions) ?? [])
    .slice(0, limits.knowledgeTracedMax)

const failing = new Set(['path-escape', 'budget-too-small'])

function makeTimer(): { readonly laps: Record<string, number>; readonly lap: (name: string) => void } {
  const laps: Record<string, number> = {}
  let last = performance.now()
  return {
    laps,
    lap: (name) => {
      const now = performance.now()
      laps[name] = Math.round((now - last) * 100) / 100
      last = now
    },
  }
}

async function activateFor(request: ResolveRequest, deps: ResolveDeps): Promise<Activation<Routing>> {
  const { scan, permissions } = deps
  const found = usable(scan.packs, 'found', permissions).map(({ pack }) => pack)
  const router = await deps.routerFor(found, permissions)
  return activate(scan, { ...request, permissions }, () => {
    const decision = router.decide(request.query)
    return { ids: decision.activated.map(({ id }) => id), decision }
  })
}

interface Opened {
  readonly open: OpenPack
  readonly facts: PackFacts
}

async function openAll({ activated }: Activation<Routing>, { library }: ResolveDeps): Promise<readonly Opened[]> {
  const opened: Opened[] = []
  for (const { pack, activation, warnings } of activated) {
    const open = await library.open(pack)
    opened.push({ open, facts: { ...open.facts, activation, warnings } })
  }
  return opened
}

/** Files are divided only as far as the choice needs them. */
async function chooseFrom(opened: readonly Opened[], decide: (packs: readonly PackFacts[]) => Choice): Promise<Choice> {
  const packs = opened.map(({ facts }) => facts)
  for (;;) {
    const choice = decide(packs)
    if (choice.wanted.length === 0) return choice
    for (const { pack, paths } of choice.wanted)
      await opened.find(({ facts }) => facts.pack.id === pack)?.open.index(paths)
  }
}

/** The bytes of the chosen sections, as long as they are those that were chosen. */
async function readChosen({ packs }: Choice, opened: readonly Opened[]): Promise<ReadonlyMap<ChosenSection, string>> {
  const texts = new Map<ChosenSection, string>()
  for (const chosen of packs.flatMap(({ sections }) => sections)) {
    const { from, to, text, headings, digest } = chosen.section
    const files = opened.find(({ facts }) => facts.pack.id === chosen.pack)?.open.files
    if (text !== undefined || files === undefined) continue
    const read = await files.readRange(chosen.path, from, to)
    if (typeof read === 'string' && sectionDigest(headings, read) === digest) texts.set(chosen, read)
  }
  return texts
}

const blocksOf = ({ packs }: Wrapped): Resolution['blocks'] =>
  packs.map((wrapped, index) => {
    const { header } = wrapped.pack
    const name = `knowledge:${header.name}${header.version === undefined ? '' : `@${header.version}`}`
    return {
      id: name,
      bucket: 'evidence',
      priority: packs.length - index,
      text: wrapped.text,
      tokens: wrapped.tokens,
      refs: wrapped.files.map((path) => `${name}#${path}`),
    }
  })

const catalogHash = ({ scan, permissions }: ResolveDeps): string =>
  objectHash(catalogOf(scan.packs, permissions).map(({ id, digest, trust }) => ({ id, digest, trust })))
