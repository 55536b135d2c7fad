import { Failure, quote } from '../../base/failure.ts'
import { isObject } from '../../base/object.ts'
import { parseAs } from '../../model/parse.ts'
import { policyTest } from '../../model/policy.ts'
import { decide } from '../../policy/decide.ts'
import { explain } from '../../policy/explain.ts'
import { readWritten } from '../../policy/history.ts'
import { compilePolicies, ruleRoots } from '../../policy/policies.ts'
import type { ShadowFilter } from '../../runtime/policy/shadow.ts'
import { type CommonOptions, inTenant, sourceOf, withStore, withTenant } from '../session.ts'
import { objectInput, readJsonInput } from '../terminal/files.ts'
import { found, type Io, printJson, type Register, tell } from '../terminal/io.ts'
import { instant, several } from '../terminal/options.ts'
import { checkFiles, policiesFor, readPolicies } from './files.ts'
import { printChecks, printExplanation, printShadow, printTests, type TestResult } from './report.ts'

type Json = Pick<CommonOptions, 'json'>
type ExplainOptions = CommonOptions & { readonly capability: string; readonly facts: string }

const json = ['--json', 'print JSON for programs'] as const

export default ((policy, io) => {
  policy
    .command('check <file...>')
    .description('read policies and say whether they load, and if not, why and where')
    .option(
      '--descriptor <file>',
      'a capability whose context fields the rules may read; may be given several times',
      several,
    )
    .option(...json)
    .addHelpText('after', '\nNeeds no store. Exit 0: all load. 1: one does not. 2: could not look.')
    .action((files: readonly string[], options: Json & { readonly descriptor?: readonly string[] }) => {
      const checks = checkFiles(io, files, options.descriptor ?? [])
      options.json ? printJson(io, { files: checks }) : printChecks(io, checks)
      if (checks.some(({ problems }) => problems.length > 0)) found(io)
    })

  policy
    .command('test <file>')
    .description('hold policies to the decisions written down in a test file')
    .option(...json)
    .addHelpText('after', testHelp)
    .action((file: string, options: Json) => {
      const results = runTests(io, file)
      options.json ? printJson(io, { cases: results }) : printTests(io, results)
      if (results.some(({ passed }) => !passed)) found(io)
    })

  withStore(policy.command('explain <file...>'))
    .description('decide one call, and say why and what would have changed the answer')
    .requiredOption('--capability <id>', 'what is called')
    .requiredOption('--facts <json>', 'what is known of the call, as JSON, or @ and the name of a file with it')
    .addHelpText(
      'after',
      '\nWhat the configuration here says of the capability is known. Needs no store. Exit 0 whatever the decision is: it is the\nanswer.',
    )
    .action(async (files: readonly string[], options: ExplainOptions) => {
      const { capabilityIn } = await import('../../runtime/hosting/upstreams.ts')
      const set = compilePolicies(readPolicies(io, files))
      const facts = await factsIn(io, options.facts)
      const { capability: said = {} } = facts
      const named = { id: options.capability, version: isObject(said) ? said['version'] : undefined }
      const capability = isObject(said)
        ? { ...(await capabilityIn(sourceOf(io, options), named, tell(io))), ...said }
        : said
      const explanation = explain(set, options.capability, { ...facts, capability })
      options.json ? printJson(io, explanation) : printExplanation(io, explanation)
    })

  withTenant(policy.command('shadow <file...>'))
    .description('decide recorded calls again with these policies, and list the decisions that would change')
    .option('--capability <id>', 'only this capability')
    .option('--since <time>', 'from this time on: RFC 3339, or an age such as 7d', instant)
    .option('--until <time>', 'before this time: RFC 3339, or an age such as 1h', instant)
    .option('--enforce', 'take policies on trial (`audit_only`) as enforced')
    .addHelpText(
      'after',
      '\nNothing runs and nothing is written. Exit 0: none would change. 1: some would. 2: could not look.',
    )
    .action((files: readonly string[], options: CommonOptions & ShadowFilter & { readonly enforce?: true }) =>
      inTenant(io, options, async (ambit, caller) => {
        const { shadowDecisions } = await import('../../runtime/policy/shadow.ts')
        const given = readPolicies(io, files)
        const candidates = options.enforce ? given.map((policy) => ({ ...policy, mode: 'enforce' as const })) : given
        const calls = await shadowDecisions(ambit, caller, compilePolicies(candidates), options)
        options.json ? printJson(io, { calls }) : printShadow(io, calls)
        if (calls.some(({ answer }) => answer.is === 'differs')) found(io)
      }),
    )
}) satisfies Register

const testHelp = `
The file: {"policies": [path or policy], "cases": [{"name", "capability", "facts", "expect": {"decision", "rule"?}}]}.
Paths start at the file. Needs no store. Exit 0: all as expected. 1: a case is not. 2: could not look.`

function runTests(io: Io, file: string): readonly TestResult[] {
  const { policies, cases } = parseAs(policyTest, readJsonInput(io, file), file)
  const set = compilePolicies(policiesFor(io, file, policies))
  return cases.map(({ name, capability, facts, expect }) => {
    const { decision, rule, reason } = decide(set, capability, readWritten(facts))
    const passed = decision === expect.decision && (expect.rule === undefined || expect.rule === rule)
    return { name, passed, expected: expect, got: { decision, rule, reason } }
  })
}

async function factsIn(io: Io, text: string) {
  const facts = await objectInput(io, '--facts', text)
  const strange = Object.keys(facts).find((name) => !ruleRoots.includes(name))
  if (strange === undefined) return facts
  const help = `rules read ${ruleRoots.join(', ')}`
  throw new Failure('field.invalid', `--facts: ${quote(strange)} is no fact that a rule reads`, {}, help)
}
