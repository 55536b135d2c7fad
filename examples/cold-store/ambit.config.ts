// What the guide on hosting capabilities builds: a cold store whose batches an agent may release, if people agree.

// cut: config
import { defineCapability, defineConfig } from '../../src/index.ts'

const temperature = defineCapability(
  {
    id: 'depot.temperature',
    version: '1.0.0',
    description: 'Reads the temperature of a cold room.',
    modes: ['sync', 'stream'],
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['room'],
      properties: { room: { enum: ['north', 'south'] } },
    },
    policy: { statement: 'Anyone may read a temperature.' },
  },
  async function* ({ room }) {
    for (const celsius of [4, 5, 4]) yield { celsius }
    return { room: room ?? null, celsius: 4 }
  },
)

const releaseBatch = defineCapability(
  {
    id: 'depot.release_batch',
    version: '2.1.0',
    description: 'Moves a quarantined batch to saleable stock.',
    risk: 'high',
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['batch_id', 'consignee', 'excursion_minutes'],
      properties: {
        batch_id: { type: 'string', pattern: '^B-[0-9]{6}$' },
        consignee: { type: 'string', 'x-sensitive': true },
        excursion_minutes: { type: 'integer', minimum: 0 },
      },
    },
    context: {
      name: 'batch_context',
      version: '1.0.0',
      identifies: 'the batch, how long it was warm, and why it is needed',
      fields: {
        batch_id: {
          source: 'payload:/batch_id',
          schema: { type: 'string' },
          evidence: 'value',
          show_to_approver: true,
        },
        excursion_minutes: {
          source: 'payload:/excursion_minutes',
          schema: { type: 'integer' },
          evidence: 'value',
          read_by: ['quality_release'],
          show_to_approver: true,
        },
        purpose: {
          source: 'metadata:/purpose',
          schema: { enum: ['routine', 'shortage'] },
          evidence: 'value',
          read_by: ['quality_release'],
        },
      },
      example: { batch_id: 'B-000001', excursion_minutes: 0, purpose: 'routine' },
    },
    policy: {
      auth_required: true,
      permissions: ['stock:release'],
      name: 'quality_release',
      statement: 'A responsible pharmacist releases a batch that was ever too warm.',
      may_require: ['approval'],
    },
    effects: ['stock.move'],
  },
  ({ batch_id }, { signal }) => {
    signal.throwIfAborted()
    return { batch_id: batch_id ?? null, slot: 'S-9' }
  },
)

export default defineConfig({
  tenant: 'northlight',
  capabilities: [temperature, releaseBatch],
  policies: ['policies/quality-release.json'],
  host: { port: 0 },
})
// end
