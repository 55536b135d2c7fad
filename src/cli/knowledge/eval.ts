import type { Command } from 'commander'
import { formatTime } from '../../base/time.ts'
import type { SelectionResult } from '../../model/knowledge/records.ts'
import type { Evaluation } from '../../runtime/knowledge/evaluate.ts'
import { keepResults } from '../../runtime/knowledge/records.ts'
import type { SuiteName } from '../../runtime/knowledge/suites.ts'
import { systemClock } from '../../runtime/system.ts'
import { readJsonInput } from '../terminal/files.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'
import { answer, each, type KnowledgeFlags, reading, runsFolder } from './flags.ts'
import { printFindings } from './report.ts'

interface EvalFlags extends KnowledgeFlags {
  readonly suite: string
}

export function addEval(knowledge: Command, io: Io): void {
  reading(knowledge.command('eval [dir]'))
    .description('whether questions find the packs they should, by the suites of the packs')
    .option('--suite <name>', 'train, validation, or the file of a suite for the pack that it names', 'validation')
    .option('--record [dir]', 'keep the results as eval-discovery-….json (default: .ambit/runs)')
    .addHelpText(
      'after',
      '\nExit 0: every case passes. 1: one fails, or a suite cannot be read. 2: wrong usage, or a root is missing.',
    )
    .action((dir: string | undefined, given: EvalFlags) =>
      each(io, dir, given, async (packs, flags) => {
        const evaluation = await packs.evaluate(suiteOf(io, flags))
        const { findings, answers } = evaluation
        const results = evaluation.suites.map(({ result }) => result)
        if (flags.record !== undefined) await record(io, flags, results)
        const failed =
          results.some(({ summary }) => summary.failed > 0) || answers.some(({ missed }) => missed.length > 0)
        const given = { findings, more: { results, answers }, ...(failed && { ok: false, status: 'failed' }) }
        return answer(io, 'eval', flags, given, () => {
          printEvaluation(io, evaluation)
          printFindings(io, findings)
        })
      }),
    )
}

const suiteOf = (io: Io, { suite }: EvalFlags): SuiteName =>
  suite === 'train' || suite === 'validation' ? suite : { file: suite, value: readJsonInput(io, suite) }

async function record(io: Io, flags: EvalFlags, results: readonly SelectionResult[]): Promise<void> {
  const folder = await runsFolder(io, flags, flags.record)
  const name = suiteOf(io, flags)
  const suite = typeof name === 'string' ? name : 'given'
  await keepResults(folder, { at: formatTime(systemClock.now()), suite, results })
}

function printEvaluation(io: Io, { suites, answers }: Evaluation): void {
  printColumns(io, suites, 'no pack has such a suite', {
    PACK: ({ result }) => result.pack_name,
    CASES: ({ result }) => String(result.results.length),
    PASSED: ({ result }) => String(result.summary.passed),
    PRECISION: ({ result }) => result.summary.precision.toFixed(2),
    RECALL: ({ result }) => result.summary.recall.toFixed(2),
    WARNINGS: ({ result }) => result.summary.warning_accuracy.toFixed(2),
  })
  for (const { suite, result } of suites)
    for (const { id, expected, actual, passed } of result.results) {
      if (passed) continue
      const prompt = suite.cases.find((one) => one.id === id)?.prompt ?? id
      const told = `${suite.pack_name}/${id}: ${expected} expected, ${actual} found: ${prompt}`
      line(io, `${paint(io, 'red', 'failed')} ${plain(told)}`)
    }
  if (answers.length === 0) return
  const [required, selected] = [sum(answers.map((one) => one.required)), sum(answers.map((one) => one.selected))]
  line(io, `\nanswers: ${selected} of ${required} required places selected`)
  for (const { pack_name, id, missed } of answers)
    if (missed.length > 0)
      line(io, `${paint(io, 'red', 'missed')} ${plain(pack_name)}/${plain(id)}: ${plain(missed.join(', '))}`)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
