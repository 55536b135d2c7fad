import { singleOperation } from '../operation-command.ts'
import { line, paint, plain } from '../terminal/io.ts'
import { printFields } from '../terminal/table.ts'

export default singleOperation('explain', {
  input: { id: ['event-or-invocation-id', 'of the call, or of one of its records'] },
  print: (io, explained) => {
    const { sentence, policy, rules, context, approvers, denial, error } = explained
    line(io, paint(io, 'bold', plain(sentence)))
    printFields(io, [
      ['call', plain(`${explained.invocation_id} of task ${explained.correlation_id}`)],
      ['by', plain(explained.subject ?? 'nobody')],
      ['at', explained.at],
      ['policy', policy === null ? '' : plain(`${policy.name}, version ${policy.version}, ${policy.state}`)],
      ['rules', ...rules.map(({ gate, rule, effect, reads }) => plain(ruleText(gate, rule, effect, reads)))],
      ['facts', ...context.map(({ name, state, shown }) => plain(`${name}: ${state === 'present' ? shown : state}`))],
      ['approved by', ...approvers.map(({ name, role }) => plain(`${name} as ${role}`))],
      ['effect', error?.effect === 'unknown' ? 'nobody knows whether it happened' : plain(error?.effect ?? '')],
      ['next', plain(denial?.next ?? ''), `ambit evidence trace ${plain(explained.correlation_id)}`],
    ])
  },
})

const ruleText = (gate: string, rule: string, effect: string, reads: readonly string[]): string =>
  `${rule}: ${effect} at gate ${gate}${reads.map((name) => `, read ${name}`).join('')}`
