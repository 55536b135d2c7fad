import type { Register } from './terminal/io.ts'

interface CommandEntry {
  readonly summary: string
  readonly load: () => Promise<{ default: Register }>
}

/** Every command of `ambit`, in the order `--help` lists them. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  demo: { summary: 'see in one minute what Ambit is for', load: () => import('./start/demo.ts') },
  init: { summary: 'write a commented configuration', load: () => import('./start/init.ts') },
  doctor: { summary: 'check this installation and say what to do', load: () => import('./start/doctor.ts') },
  tenant: {
    summary: 'tenants: each with its own keys, chain and namespace roots',
    load: () => import('./identity/tenant.ts'),
  },
  principal: { summary: 'the people, services and agents of a tenant', load: () => import('./identity/principal.ts') },
  key: { summary: 'API keys: shown once, kept as hashes', load: () => import('./identity/key.ts') },
  secret: { summary: 'secrets, kept encrypted and used by name', load: () => import('./identity/secret.ts') },
  host: { summary: 'serve capabilities to others', load: () => import('./hosting/host.ts') },
  mcp: {
    summary: 'serve what you may call to an MCP client, over standard input and output',
    load: () => import('./hosting/mcp.ts'),
  },
  capabilities: { summary: 'what is hosted here, and by which policy', load: () => import('./calls/capabilities.ts') },
  call: { summary: 'call one capability through the gateway', load: () => import('./calls/call.ts') },
  preview: { summary: 'what would be decided about a call now', load: () => import('./calls/preview.ts') },
  agent: { summary: 'agents: write, check and list them', load: () => import('./runs/agent.ts') },
  run: { summary: 'run an agent under the grants you give it', load: () => import('./runs/run.ts') },
  runs: { summary: 'runs: see, follow, cancel and resume them', load: () => import('./runs/runs.ts') },
  memory: { summary: 'what agents remember: list, read, forget, erase', load: () => import('./runs/memory.ts') },
  grants: { summary: 'end what runs were granted', load: () => import('./runs/grants.ts') },
  pack: { summary: 'context packs: write, check, sign and publish them', load: () => import('./packs/pack.ts') },
  compile: { summary: 'what a run would be given, and why; runs nothing', load: () => import('./packs/compile.ts') },
  envelope: { summary: 'build a request, and see what follows from it', load: () => import('./packs/envelope.ts') },
  artifact: { summary: 'bytes that requests name as attachments', load: () => import('./packs/artifact.ts') },
  invocations: { summary: 'the recorded results of your calls', load: () => import('./calls/invocations.ts') },
  approvals: { summary: 'calls that wait for people', load: () => import('./calls/approvals.ts') },
  approver: { summary: 'the people who may decide about calls', load: () => import('./identity/approver.ts') },
  policy: { summary: 'check, test, explain and try out the rules of calls', load: () => import('./policy/policy.ts') },
  knowledge: {
    summary: 'knowledge packs: find them, check them, see what a model would be given',
    load: () => import('./knowledge/knowledge.ts'),
  },
  evidence: { summary: 'search, show and export sealed records', load: () => import('./evidence/evidence.ts') },
  explain: { summary: 'why a recorded call was allowed or denied', load: () => import('./evidence/explain.ts') },
  verify: { summary: 'prove an exported bundle, offline', load: () => import('./evidence/verify.ts') },
  store: { summary: 'back up, restore and check the store', load: () => import('./evidence/store.ts') },
  schema: { summary: 'the JSON Schema of every contract', load: () => import('./schema.ts') },
}
