import type { Register } from './terminal/io.ts'

const command = (summary: string, load: () => Promise<{ default: Register }>) => ({ summary, load })

/** Every command of `ambit`, in the order `--help` lists them. */
export const commands: Readonly<Record<string, ReturnType<typeof command>>> = {
  demo: command('see in one minute what Ambit is for', () => import('./start/demo.ts')),
  init: command('write a commented configuration', () => import('./start/init.ts')),
  doctor: command('check this installation and say what to do', () => import('./start/doctor.ts')),
  tenant: command('tenants: each with its own keys, chain and namespace roots', () => import('./identity/tenant.ts')),
  principal: command('the people, services and agents of a tenant', () => import('./identity/principal.ts')),
  key: command('API keys: shown once, kept as hashes', () => import('./identity/key.ts')),
  secret: command('secrets, kept encrypted and used by name', () => import('./identity/secret.ts')),
  host: command('serve capabilities to others', () => import('./hosting/host.ts')),
  mcp: command(
    'serve what you may call to an MCP client, over standard input and output',
    () => import('./hosting/mcp.ts'),
  ),
  capabilities: command('what is hosted here, and by which policy', () => import('./calls/capabilities.ts')),
  call: command('call one capability through the gateway', () => import('./calls/call.ts')),
  preview: command('what would be decided about a call now', () => import('./calls/preview.ts')),
  agent: command('agents: write, check and list them', () => import('./runs/agent.ts')),
  run: command('run an agent under the grants you give it', () => import('./runs/run.ts')),
  invoke: command('put a request to an agent that packs govern', () => import('./runs/invoke.ts')),
  decisions: command('what runs have decided: list, show, verify', () => import('./runs/decisions.ts')),
  runs: command('runs: see, follow, cancel and resume them', () => import('./runs/runs.ts')),
  memory: command('what agents remember: list, read, forget, erase', () => import('./runs/memory.ts')),
  grants: command('end what runs were granted', () => import('./runs/grants.ts')),
  pack: command('context packs: write, check, sign and publish them', () => import('./packs/pack.ts')),
  compile: command('what a run would be given, and why; runs nothing', () => import('./packs/compile.ts')),
  envelope: command('build a request, and see what follows from it', () => import('./packs/envelope.ts')),
  replay: command('decide recorded runs again, as they were or with another pack', () => import('./runs/replay.ts')),
  artifact: command('bytes that requests name as attachments', () => import('./packs/artifact.ts')),
  invocations: command('the recorded results of your calls', () => import('./calls/invocations.ts')),
  approvals: command('calls that wait for people', () => import('./calls/approvals.ts')),
  approver: command('the people who may decide about calls', () => import('./identity/approver.ts')),
  policy: command('check, test, explain and try out the rules of calls', () => import('./policy/policy.ts')),
  knowledge: command(
    'knowledge packs: find them, check them, see what a model would be given',
    () => import('./knowledge/knowledge.ts'),
  ),
  evidence: command('search, show and export sealed records', () => import('./evidence/evidence.ts')),
  explain: command('why a recorded call was allowed or denied', () => import('./evidence/explain.ts')),
  verify: command('prove an exported bundle, offline', () => import('./evidence/verify.ts')),
  store: command('back up, restore and check the store', () => import('./evidence/store.ts')),
  schema: command('the JSON Schema of every contract', () => import('./schema.ts')),
}
