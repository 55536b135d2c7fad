/** The name of a resource tool in front of a model: the same in every run, order and mode. */
export const resourceToolName = (resource: string, tool: string): string => `${plainName(resource)}_${tool}`

/** The same tool for gateway, policy and evidence. */
export const resourceToolId = (resource: string, tool: string): string => `${resource}.${tool}`

/** An agent that other agents may call, as a capability. */
export const agentToolId = (agent: string): string => `agent.${agent}`

/** The agent that a capability id stands for, `''` if it stands for none. */
export const agentOf = (capabilityId: string): string => /^agent\.(.*)$/.exec(capabilityId)?.[1] ?? ''

/** What a name becomes in front of a model: letters, digits and `_`. Different names may become the same. */
export const plainName = (name: string): string => name.replace(/[^A-Za-z0-9_]/g, '_')
