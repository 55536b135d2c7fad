import { shortened } from '../../base/words.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { printColumns, printFields } from '../terminal/table.ts'

type Metadata = NonNullable<CapabilityDescriptor['metadata']>
type Lifecycle = NonNullable<Metadata['lifecycle']>

/** One line per capability, with all that must be known before a call. */
export const printCapabilities = (io: Io, hostId: string, items: readonly CapabilityDescriptor[], empty: string) =>
  printColumns(io, items, empty, {
    CAPABILITY: ({ id }) => id,
    VERSION: ({ version }) => version,
    LIFECYCLE: ({ metadata }) => metadata?.lifecycle ?? 'invokable',
    POLICY: policyIn,
    HOST: () => hostId,
    DESCRIPTION: ({ description }) => shortened(description, 60),
  })

/** Everything a caller has to know of a capability, in the order people ask. */
export function printCard(io: Io, hostId: string, capability: CapabilityDescriptor): void {
  const { id, version, description, metadata = {}, policy = {} } = capability
  const { statement, may_require = [] } = metadata.policy ?? {}
  const mayRequire = may_require.length > 0 ? `may require ${may_require.join(', ')}` : ''
  line(io, `${paint(io, 'bold', plain(id))} ${plain(version)}`)
  line(io, `  ${plain(description)}`)
  line(io)
  printFields(io, [
    ['lifecycle', lifecycles[metadata.lifecycle ?? 'invokable']],
    ['host', hostId],
    ['policy', policyIn(capability), statement ?? '', mayRequire],
    ['risk', capability.risk ?? policy.risk_tier ?? 'medium'],
    ['call modes', capability.modes.join(', ')],
    ['changes', (capability.side_effects ?? []).join(', ')],
    ['needs', (metadata.required_permissions ?? []).map((name) => `permission ${name}`).join(', ')],
    ['callers', (policy.allowed_actors ?? []).join(', ')],
    ['payload', membersOf(capability.input_schema)],
  ])
  printContext(io, metadata.context)
}

function printContext(io: Io, context: Metadata['context']): void {
  if (context === undefined) return
  line(io)
  line(io, `Context \`${plain(context.name)}\` ${plain(context.version)}: ${plain(context.identifies)}`)
  printColumns(io, Object.entries(context.fields), 'none', {
    FIELD: ([name]) => name,
    FROM: ([, { source }]) => source,
    NEEDED: ([, { required }]) => (required === false ? 'no' : 'yes'),
    'READ BY': ([, { read_by = [] }]) => read_by.join(' ') || '–',
    'IN EVIDENCE': ([, { sensitive, evidence = 'digest' }]) => (sensitive ? `${evidence}, sensitive` : evidence),
  })
  line(io, `such as ${plain(JSON.stringify(context.example))}`)
}

/** The state of the policy in words, and its name if it has one. */
function policyIn({ metadata }: CapabilityDescriptor): string {
  const { state = 'blocked', name } = metadata?.policy ?? {}
  return name === undefined ? state : `${state}: ${name}`
}

/** The members of an object schema, those that may be left out with a question mark. */
function membersOf(schema: CapabilityDescriptor['input_schema']): string {
  const properties = schema?.['properties']
  if (typeof properties !== 'object' || properties === null) return 'anything'
  const required = schema?.['required']
  const needed = new Set(Array.isArray(required) ? required : [])
  return Object.keys(properties)
    .map((name) => (needed.has(name) ? name : `${name}?`))
    .join(', ')
}

const lifecycles: Readonly<Record<Lifecycle, string>> = {
  declared: 'declared: described, not hosted yet',
  hosted: 'hosted: here, not offered yet',
  discoverable: 'discoverable: listed, not to be called yet',
  invokable: 'invokable: can be called',
  verified: 'verified: can be called, and was checked',
  deprecated: 'deprecated: can be called, and will go',
  restricted: 'restricted: by policy',
  blocked: 'blocked: by policy',
  unavailable: 'unavailable: cannot be called now',
}
