import { isObject } from '../../base/object.ts'
import { usable } from '../../knowledge/activate.ts'
import { type Diagnostic, diagnostic } from '../../knowledge/diagnostic.ts'
import { type Permissions, statusWarning } from '../../knowledge/gates.ts'
import type { Pack } from '../../knowledge/pack.ts'
import type { Winner } from '../../knowledge/precedence.ts'
import type { Router } from '../../knowledge/route/route.ts'
import { gradeSuite, type ReadSuite, readSuite, type SuiteAnswer } from '../../knowledge/route/suite.ts'
import { splitOf } from '../../knowledge/select/layout.ts'
import type { AnswerSuite, SelectionResult, SelectionSuite } from '../../model/knowledge/records.ts'
import type { Resolution, ResolveRequest } from './resolution.ts'
import type { RouterFor } from './routing.ts'
import type { Scan } from './scan.ts'
import type { SuiteName, SuiteReader } from './suites.ts'

/** How much of the context that a good answer needs was selected. */
export interface AnswerResult {
  readonly pack_name: string
  readonly id: string
  readonly required: number
  readonly selected: number
  readonly missed: readonly string[]
}

export interface Evaluation {
  /** What was asked in each suite, and how it went. */
  readonly suites: readonly { readonly suite: SelectionSuite; readonly result: SelectionResult }[]
  readonly answers: readonly AnswerResult[]
  readonly findings: readonly Diagnostic[]
}

export interface EvaluateDeps {
  readonly scan: Scan
  readonly permissions: Permissions
  readonly suites: SuiteReader
  readonly routerFor: RouterFor
  readonly resolve: (request: ResolveRequest) => Promise<Resolution>
}

/**
 * Runs the suites of every pack, as if each were approved and confirmed: an owner wants to know before that. Train suites
 * are graded without having been learned from, by the catalog alone.
 */
export async function evaluate(name: SuiteName, deps: EvaluateDeps): Promise<Evaluation> {
  const permissions = { ...deps.permissions, approved: () => true, confirmed: () => true }
  const found = usable(deps.scan.packs, 'named', permissions)
  const packs = found.map(({ pack }) => pack)
  const router = await deps.routerFor(packs, permissions, { prompts: name !== 'train' })
  const graded: Evaluation['suites'][number][] = []
  const answers: AnswerResult[] = []
  const findings: Diagnostic[] = []
  const grade = ({ pack, warnings }: Winner, title: string, read: ReadSuite | undefined) => {
    findings.push(...(read?.diagnostics ?? []))
    const suite = read?.suite
    if (suite === undefined) return
    graded.push({ suite, result: gradeSuite(title, suite, (prompt) => selected(pack, prompt, router, warnings)) })
  }
  if (typeof name === 'object') {
    const named = found.find(({ pack }) => isObject(name.value) && pack.header.name === name.value['pack_name'])
    if (named === undefined) findings.push(diagnostic('suite-mismatch', name.file, 'it names no pack that is here'))
    else grade(named, name.file, readSuite(name.value, { path: name.file, pack: named.pack.header.name }))
    return { suites: graded, answers, findings }
  }
  for (const winner of found) {
    const { pack } = winner
    grade(winner, name, await deps.suites.selection(pack, name))
    const quality = await deps.suites.answers(pack)
    if (quality !== undefined && 'code' in quality) findings.push(quality)
    else for (const one of quality?.evals ?? []) answers.push(await recallOf(pack, one, deps))
  }
  return { suites: graded, answers, findings }
}

function selected(pack: Pack, prompt: string, router: Router, warnings: readonly Diagnostic[]): SuiteAnswer {
  const told = [statusWarning(pack), ...warnings].flatMap((warning) => warning?.code ?? [])
  return { selected: router.decide(prompt).activated.some(({ id }) => id === pack.id), warnings: told }
}

/** What is required is a file, or a section of one: `compiled/facts.md#limits`, or the split that holds it. */
async function recallOf(
  pack: Pack,
  { id, prompt, required_context = [] }: AnswerSuite['evals'][number],
  { resolve }: EvaluateDeps,
): Promise<AnswerResult> {
  const { trace } = await resolve({ query: prompt, select: [pack.id], confirm: [pack.id], implicit: false })
  const sections = trace.activated.flatMap((one) => one.sections)
  const places = new Set(
    sections.flatMap(({ path, section = '' }) => [path, `${path}#${section}`, splitOf(path, section)]),
  )
  const missed = required_context.filter((place) => !places.has(place))
  return {
    pack_name: pack.header.name,
    id,
    required: required_context.length,
    selected: required_context.length - missed.length,
    missed,
  }
}
