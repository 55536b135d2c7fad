import type {
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/server'
import { canonical, type Json } from '../base/canonical.ts'
import { replay } from '../runtime/evidence/reading.ts'
import type { AmbitHost, CallCaller } from '../runtime/hosting/host.ts'
import { fenceText, resultText } from '../runtime/hosting/tools.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** What is served beside tools. Undefined: there is no such thing, or not for this caller. */
export interface Content {
  resources(): readonly Resource[]
  templates(): readonly ResourceTemplateType[]
  read(uri: string): Promise<ReadResourceResult['contents'] | undefined>
  prompts(): readonly Prompt[]
  prompt(name: string, args: Readonly<Record<string, string>>): Promise<GetPromptResult | undefined>
}

const capabilityUri = 'ambit://capabilities/'
const evidenceUri = 'ambit://evidence/'
const mimeType = 'text/plain'

/** The boundary of every capability this caller may call, what its own calls have left behind, and how to read a refusal. */
export function ownContent(ambit: Runtime, host: AmbitHost, caller: CallCaller): Content {
  const capability = (id: string) => host.gateway.discover(caller).find((each) => each.id === id)
  const evidence = (correlation_id: string) =>
    replay(ambit, { tenant: host.tenant, subject: caller.subject?.id ?? null, all: false }, { correlation_id })
  return {
    resources: () =>
      host.gateway.discover(caller).map(({ id, version }) => ({
        uri: `${capabilityUri}${encodeURIComponent(id)}`,
        name: id,
        description: `What \`${id}\` ${version} takes, needs and is allowed to do.`,
        mimeType,
      })),
    templates: () => [
      {
        uriTemplate: `${evidenceUri}{correlation_id}`,
        name: 'evidence',
        description: 'The recorded events of your own calls of one task, in order.',
        mimeType,
      },
    ],
    read: async (uri) => {
      const found = uri.startsWith(capabilityUri)
        ? capability(lastPart(uri, capabilityUri))
        : uri.startsWith(evidenceUri)
          ? await evidence(lastPart(uri, evidenceUri))
          : undefined
      // Descriptions and errors are the words of others.
      const text = (value: object) => fenceText(uri, canonical(value as unknown as Json), host.secretFor('fence'))
      return found && [{ uri, mimeType, text: text(found) }]
    },
    prompts: () => [
      {
        name: 'explain_refusal',
        description: 'Why one of your calls was refused, and what to do.',
        arguments: [idArgument],
      },
    ],
    prompt: async (name, { invocation_id = '' }) => {
      if (name !== 'explain_refusal') return undefined
      const recorded = await host.gateway.recorded(caller, invocation_id)
      const text =
        recorded?.denial == null
          ? 'There is no refused call of yours with this id.'
          : resultText(recorded, { seed: host.secretFor('fence') })
      return { messages: [{ role: 'user', content: { type: 'text', text } }] }
    },
  }
}

const idArgument = {
  name: 'invocation_id',
  description: 'The id of the call: `ambit/invocation_id` in the `_meta` of its result.',
  required: true,
}

function lastPart(uri: string, before: string): string {
  try {
    return decodeURIComponent(uri.slice(before.length))
  } catch {
    return ''
  }
}
