import { Failure } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import type { Capability } from '../../gateway/capability.ts'
import { readYaml } from '../../knowledge/discover/yaml.ts'
import { knowledge } from '../../resources/knowledge.ts'
import { memory } from '../../resources/memory.ts'
import { scratchpad } from '../../resources/scratchpad.ts'
import { readManifest } from '../../runs/manifest.ts'
import { filesOf, type NamedFile, readBytes } from '../hosting/config-files.ts'
import { openKnowledge } from '../knowledge/knowledge.ts'
import { knowledgeSource } from '../knowledge/provider.ts'
import type { Settings } from '../settings/config.ts'
import type { Hosting } from '../settings/hosting.ts'
import { type Agent, agentOf } from './agent.ts'
import { type Agents, openAgents } from './agents.ts'

/** The agents of a configuration, with the providers that are always there unless another of their kind is named. */
export function agentsOf(
  { knowledge: packs }: Pick<Settings, 'knowledge'>,
  hosting: Hosting,
  capabilities: readonly Capability[],
): Agents {
  const { providers, models, planners, prices, protect: protectedBranches } = hosting
  const { roots, ...rest } = packs
  const known = roots === undefined ? [] : [knowledge(knowledgeSource(openKnowledge({ ...rest, roots })))]
  const usual = [memory(), scratchpad(), ...known].filter(({ kind }) => !providers.some((each) => each.kind === kind))
  const agents = hosting.agents.flatMap((each) => ('path' in each ? agentFiles(each).map(readAgent) : each))
  const spec = { agents, providers: [...usual, ...providers], models, planners, prices, capabilities }
  return openAgents({ ...spec, protectedBranches })
}

/** The files behind an entry of `agents`. */
export const agentFiles = (file: NamedFile): readonly NamedFile[] => filesOf(file, /\.(?:ya?ml|json)$/)

/** The agent that a file describes, YAML or JSON; a failure names the file and the place in it. */
export function readAgent(file: NamedFile): Agent {
  const bytes = readBytes(file, 'manifest.invalid')
  return agentOf(readManifest(file.name.endsWith('.json') ? readJson(bytes) : yamlIn(bytes, file), file.name))
}

function yamlIn(bytes: Uint8Array, { name }: NamedFile): unknown {
  const read = readYaml(Buffer.from(bytes).toString())
  if ('map' in read) return read.map
  throw new Failure('manifest.invalid', `${name}: ${read.why.replace('the frontmatter', 'the file')}`, { pointer: '' })
}
