// What the public conformance suite of MCP asks for and Ambit does not do, each with its reason.

export interface Exception {
  readonly side: Side
  /** The name of a scenario; with a `*` at its end a whole area, which is not run. */
  readonly scenario: string
  /** Only where the protocol has this revision. */
  readonly revision?: string
  /** Those checks of the scenario that are meant. Without them, all of it. */
  readonly checks?: readonly string[]
  readonly reason: string
}

export type Side = 'server' | 'client' | 'authorization'

const noQuestions =
  'A call of ours asks a client for nothing but to come back when people have approved it; samples, roots and other forms are never asked for.'
const noSessions =
  'Over HTTP each request stands by itself: no session is kept, so there is nothing to resume, to watch or to end.'

const server = (scenario: string, reason: string, rest: Partial<Exception> = {}): Exception => ({
  side: 'server',
  scenario,
  reason,
  ...rest,
})

export const exceptions: readonly Exception[] = [
  server(
    'tools-call-with-logging',
    'Clients are sent results and progress, no log: what a call did is in its evidence, which its caller can read.',
  ),
  server('tools-call-sampling', noQuestions),
  server('tools-call-elicitation', noQuestions),
  server('elicitation-sep1034-defaults', noQuestions),
  server('elicitation-sep1330-enums', noQuestions),
  server('resources-subscribe', noSessions),
  server('resources-unsubscribe', noSessions),
  server('server-sse-polling', noSessions),
  server('server-sse-multiple-streams', noSessions, { revision: '2025-11-25' }),
  server('server-session-lifecycle', noSessions),
  server(
    'server-stateless',
    'No tool of ours needs a capability of its client: one that cannot be asked is told in words.',
    {
      checks: ['sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400'],
    },
  ),
  server('input-required-result-basic-elicitation', noQuestions, { checks: ['sep-2322-elicitation-incomplete'] }),
  server('input-required-result-basic-sampling', noQuestions),
  server('input-required-result-basic-list-roots', noQuestions),
  server('input-required-result-multiple-input-requests', noQuestions),
  server('input-required-result-non-tool-request', noQuestions),
  server('input-required-result-capability-check', noQuestions),
  server(
    'input-required-result-ignore-extra-params',
    'An answer counts only with the sealed state of the round that asked for it; the scenario sends one unasked.',
  ),
  server('tasks-*', 'The tasks extension is not offered.'),
  server('sep-2640-*', 'The skills extension is not offered.'),
  {
    side: 'client',
    scenario: 'auth/*',
    reason:
      'Credentials of upstream servers are handles to secrets that an operator keeps; Ambit runs no OAuth flow of its own.',
  },
  {
    side: 'client',
    scenario: 'elicitation-sep1034-client-defaults',
    reason: 'Nobody sits at the gateway: a tool that asks for more than its input is refused, and its call fails.',
  },
  {
    side: 'client',
    scenario: 'sep-2322-client-request-state',
    checks: [
      'sep-2322-client-request-state-echoed',
      'sep-2322-client-jsonrpc-id-different',
      'sep-2322-client-no-state-omitted',
    ],
    reason: 'Nobody sits at the gateway: a tool that asks for more than its input is refused, and its call fails.',
  },
  { side: 'client', scenario: 'sep-2640-*', reason: 'The skills extension is not used.' },
  { side: 'authorization', scenario: 'authorization-*', reason: 'Ambit is no authorization server.' },
]
