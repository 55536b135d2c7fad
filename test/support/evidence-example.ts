// The worked example: a cold store releases a batch. Digests and signatures over these objects are check values.

export const descriptor = {
  id: 'depot.release_batch',
  version: '2.1.0',
  description: 'Moves a quarantined batch to saleable stock and books its dispatch slot.',
  modes: ['sync'],
  emits: ['approval_requested', 'execution_denied', 'execution_started', 'execution_completed', 'execution_failed'],
  side_effects: ['stock.move'],
  risk: 'high',
  idempotency: 'required',
  timeout_s: 20,
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['batch_id', 'consignee', 'excursion_minutes'],
    properties: {
      batch_id: { type: 'string', pattern: '^B-[0-9]{6}$' },
      consignee: { type: 'string', 'x-sensitive': true },
      excursion_minutes: { type: 'integer', minimum: 0 },
    },
  },
  policy: { risk_tier: 'high', auth_required: true, approval_required: false, allowed_actors: ['stock-planner'] },
  metadata: {
    required_permissions: ['stock:release'],
    policy: {
      name: 'quality_release',
      statement: 'Two responsible pharmacists release a batch that was ever too warm.',
      may_require: ['approval'],
    },
    context: {
      name: 'batch_context',
      version: '1.0.0',
      identifies: 'the quarantined batch, how long it was warm, and why it is needed',
      closed: true,
      fields: {
        batch_id: { source: 'payload:/batch_id', schema: { type: 'string' }, evidence: 'value' },
        consignee: { source: 'payload:/consignee', schema: { type: 'string' }, sensitive: true },
        environment: { source: 'correlation:/environment', schema: { enum: ['test', 'prod'] }, evidence: 'value' },
        excursion_minutes: {
          source: 'payload:/excursion_minutes',
          schema: { type: 'integer' },
          evidence: 'value',
          read_by: ['quality_release'],
        },
        purpose: {
          source: 'metadata:/purpose',
          schema: { enum: ['routine', 'shortage'] },
          evidence: 'value',
          read_by: ['quality_release'],
        },
      },
      example: {
        batch_id: 'B-000001',
        consignee: 'Clinic 1',
        environment: 'test',
        excursion_minutes: 0,
        purpose: 'routine',
      },
    },
  },
} as const

export const policy = {
  name: 'quality_release',
  version: '3',
  applies_to: ['depot.release_batch'],
  rules: [
    {
      id: 'routine',
      when: {
        and: [{ '>': [{ var: 'context.excursion_minutes' }, 0] }, { '==': [{ var: 'context.purpose' }, 'routine'] }],
      },
      decision: 'deny',
    },
    { id: 'cold', when: { '==': [{ var: 'context.excursion_minutes' }, 0] }, decision: 'allow' },
    {
      id: 'excursion',
      when: { '>': [{ var: 'context.excursion_minutes' }, 0] },
      decision: 'requires_approval',
      approval: { roles: ['responsible_pharmacist'], quorum: 2, expires_in_s: 7200 },
    },
  ],
} as const

export const envelope = {
  invocation_id: 'inv_7Q2',
  capability_id: 'depot.release_batch',
  version: '2.1.0',
  mode: 'sync',
  correlation: { correlation_id: 'run-5521', environment: 'prod' },
  subject: { id: 'agent://stock-planner' },
  actor: { id: 'agent://stock-planner', type: 'agent' },
  metadata: { purpose: 'shortage' },
  payload: { batch_id: 'B-204417', consignee: 'Clinic 88, Tromsø', excursion_minutes: 14 },
  requested_at: '2026-06-16T15:00:00.000Z',
} as const

export const denial = {
  code: 'approval_required',
  message: 'quality_release must approve before execution',
  retryable: true,
  details: {
    policy: 'quality_release',
    approval_id: 'apr_31',
    decision: 'requires_approval',
    matched_rule: 'quality_release/excursion',
    policy_version: '3',
    required_next_action: 'wait for 2 approvals by responsible_pharmacist, then repeat this invocation_id',
  },
} as const

export const record = {
  v: 'ambit-decision-v1',
  seq: 42,
  tenant: 'northlight',
  redacted: true,
  capability_version: '2.1.0',
  subject: { id: 'stock-planner', type: 'api_key', verified: true, tenant: 'northlight' },
  actor: { id: 'agent://stock-planner', type: 'agent' },
  correlation: { environment: 'prod', causation_id: null, parent_correlation_id: null, trace_id: null },
  denial: {
    code: 'approval_required',
    digest: 'sha256:53a433d5a88b32e57d619f0474cd5e1b84ebfbbabd2cc484550431a33ff8ddb2',
  },
  error: null,
  descriptor: 'sha256:36bb1e331bc1eed31e8768d5720a3ca900cafbae848f0cfc460df0b2ea4612bd',
  input: 'hmac-sha256:05c0260d04c3c930487e9b0d277190a3a74f0d3d4424afd9e4789006b5e21d29',
  context: [
    { name: 'batch_id', source: 'payload:/batch_id', state: 'present', sensitive: false, value: 'B-204417' },
    {
      name: 'consignee',
      source: 'payload:/consignee',
      state: 'present',
      sensitive: true,
      digest: 'hmac-sha256:fea811b5cc6cc404abd804d414064d4b6248b9cfa9084febb00f99c823f09ad7',
    },
    { name: 'environment', source: 'correlation:/environment', state: 'present', sensitive: false, value: 'prod' },
    { name: 'excursion_minutes', source: 'payload:/excursion_minutes', state: 'present', sensitive: false, value: 14 },
    { name: 'purpose', source: 'metadata:/purpose', state: 'present', sensitive: false, value: 'shortage' },
  ],
  policy: {
    name: 'quality_release',
    version: '3',
    hash: 'sha256:dd40e84c656ec6639cc007c05405ffa0b04381fd0909d6831320acd65e9c1783',
    state: 'approval_required',
  },
  basis: [{ gate: 6, rule: 'quality_release/excursion', effect: 'requires_approval', reads: ['excursion_minutes'] }],
  decision: 'requires_approval',
  approval: null,
} as const
