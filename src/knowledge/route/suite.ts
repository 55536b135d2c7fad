import {
  type OldSelectionSuite,
  oldSelectionSuite,
  type SelectionResult,
  type SelectionSuite,
  selectionSuite,
} from '../../model/knowledge/records.ts'
import { type Diagnostic, diagnostic } from '../diagnostic.ts'

export interface ReadSuite {
  /** Absent when the file is no suite of this pack. */
  readonly suite?: SelectionSuite | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/** Reads a selection suite, also in its old form. A suite that speaks for another pack is dropped. */
export function readSuite(value: unknown, from: { readonly path: string; readonly pack: string }): ReadSuite {
  const { path, pack } = from
  const old = oldSelectionSuite.safeParse(value)
  const read = selectionSuite.safeParse(old.success ? modern(old.data, pack) : value)
  if (!read.success) {
    return { diagnostics: [diagnostic('record-invalid', path, 'this is no selection suite', { pack })] }
  }
  if (read.data.pack_name !== pack) {
    return { diagnostics: [diagnostic('suite-mismatch', path, 'this suite is of another pack', { pack })] }
  }
  const notes = old.success ? [diagnostic('suite-old', path, 'this suite has the old form', { pack })] : []
  return { suite: read.data, diagnostics: notes }
}

const modern = (old: OldSelectionSuite, pack: string): SelectionSuite => ({
  pack_name: old.pack_name ?? pack,
  cases: old.queries.map(({ id, query, should_select, reason }, at) => ({
    id: id ?? `query-${at + 1}`,
    prompt: query,
    expected: should_select ? 'select' : 'reject',
    ...(reason !== undefined && { reason }),
  })),
})

/** Training suites teach routing; validation suites only measure it. By the path of the file; absent for any other. */
export function suiteRole(path: string): 'train' | 'validation' | undefined {
  if (path === 'evals/discovery.train.json' || path === 'evals/discovery.json') return 'train'
  return path === 'evals/discovery.validation.json' ? 'validation' : undefined
}

/**
 * The prompts that routing learns from: those of training suites, and only where somebody answers for the pack. `counts`
 * is that it is trusted or approved.
 */
export function promptsOf(
  suites: readonly { readonly path: string; readonly suite: SelectionSuite }[],
  counts: boolean,
): { readonly select: readonly string[]; readonly reject: readonly string[] } {
  const taught = counts ? suites.filter(({ path }) => suiteRole(path) === 'train') : []
  const cases = taught.flatMap(({ suite }) => suite.cases)
  const texts = (rejected: boolean) =>
    cases.filter(({ expected }) => (expected === 'reject') === rejected).map(({ prompt }) => prompt)
  return { select: texts(false), reject: texts(true) }
}

/** What became of a case: was the pack activated, and with which warnings, by code. */
export interface SuiteAnswer {
  readonly selected: boolean
  readonly warnings: readonly string[]
}

/** Grades a suite. `warn` passes when the pack is selected with a warning, and with every one that is expected. */
export function gradeSuite(
  name: string,
  suite: SelectionSuite,
  actual: (prompt: string) => SuiteAnswer,
): SelectionResult {
  const graded = suite.cases.map((one) => gradeCase(one, actual(one.prompt)))
  const count = (wanted: boolean, selected: boolean) =>
    graded.filter((one) => one.wanted === wanted && one.selected === selected).length
  const [hits, misses, strays] = [count(true, true), count(true, false), count(false, true)]
  const warned = graded.filter(({ warnsRight }) => warnsRight !== undefined)
  const passed = graded.filter(({ result }) => result.passed).length
  return {
    suite: name,
    pack_name: suite.pack_name,
    results: graded.map(({ result }) => result),
    summary: {
      passed,
      failed: graded.length - passed,
      precision: share(hits, hits + strays),
      recall: share(hits, hits + misses),
      false_positives: strays,
      false_negatives: misses,
      warning_accuracy: share(warned.filter(({ warnsRight }) => warnsRight).length, warned.length),
    },
  }
}

function gradeCase(one: SelectionSuite['cases'][number], { selected, warnings }: SuiteAnswer) {
  const asked = one.expected_warnings ?? []
  const complete = asked.every((code) => warnings.includes(code)) && (one.expected !== 'warn' || warnings.length > 0)
  const wanted = one.expected !== 'reject'
  const warnsRight = one.expected === 'warn' || asked.length > 0 ? selected && complete : undefined
  const actual = !selected ? 'reject' : warnings.length > 0 ? 'warn' : 'select'
  const passed = selected === wanted && (!wanted || complete)
  return { wanted, selected, warnsRight, result: { id: one.id, expected: one.expected, actual, passed } }
}

/** Of nothing, all is right. */
const share = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole)
