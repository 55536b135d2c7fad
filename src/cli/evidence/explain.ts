import type { Explanation, RunExplanation } from '../../model/requests.ts'
import { effectText } from '../calls/call-result.ts'
import { singleOperation } from '../operation-command.ts'
import { printRunExplanation } from '../runs/print-run.ts'
import { line, paint, plain } from '../terminal/io.ts'
import { printFields } from '../terminal/table.ts'
import { runFields } from './trace.ts'

export default singleOperation('explain', {
  input: { id: ['id', 'of a run, of a call, or of one of its records'] },
  summary: 'why a run was given no more than it was, or a call was allowed or denied: from the record',
  perform: async (explain, { input, ambit }) =>
    input.id.startsWith('run_') ? ((await ambit.runs.explain(input.id)) as never) : explain(input),
  print: (io, explained) => {
    if ('hidden' in explained) return printRunExplanation(io, explained as unknown as RunExplanation)
    const { sentence, policy, rules, context, approvers, denial, error } = explained
    line(io, paint(io, 'bold', plain(sentence)))
    printFields(io, [
      ['call', `${explained.invocation_id} of task ${explained.correlation_id}`],
      ['by', explained.subject ?? 'no known subject'],
      ['at', explained.at],
      ['policy', policy === null ? '' : `${policy.name}, version ${policy.version}, ${policy.state}`],
      ['rules', ...rules.map(ruleText)],
      ['facts', ...context.map(({ name, state, shown }) => `${name}: ${state === 'present' ? shown : state}`)],
      ['approved by', ...approvers.map(({ name, role }) => `${name} as ${role}`)],
      ['denied by', explained.denied_by ?? ''],
      ...runFields(explained.run),
      ['effect', effectText(error?.effect)],
      ['next', denial?.next ?? '', `ambit evidence trace ${explained.correlation_id}`],
    ])
  },
})

const ruleText = ({ gate, rule, effect, reads }: Explanation['rules'][number]): string =>
  `${rule}: ${effect} at gate ${gate}${reads.map((name) => `, read ${name}`).join('')}`
