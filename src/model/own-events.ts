/** What happens to a host's signing keys and to the evidence itself: the protocol's own words. */
type HostEvent = 'key_generated' | 'key_rotated' | 'key_revoked' | 'identity_anchored' | 'evidence_purged'

/** What else the runtime records outside calls. Nobody but the runtime writes these, and none is in a caller's correlation. */
export const runtimeEvents = [
  'ambit.tenant.created',
  'ambit.tenant.suspended',
  'ambit.tenant.resumed',
  'ambit.principal.created',
  'ambit.principal.revoked',
  'ambit.permission.given',
  'ambit.permission.withdrawn',
  'ambit.key.issued',
  'ambit.key.rotated',
  'ambit.key.revoked',
  'ambit.secret.set',
  'ambit.secret.removed',
  'ambit.approver.added',
  'ambit.approver.revoked',
  'ambit.knowledge.approved',
  'ambit.loss.accepted',
  'ambit.entry.refused',
] as const

export type OwnEvent = HostEvent | (typeof runtimeEvents)[number]
