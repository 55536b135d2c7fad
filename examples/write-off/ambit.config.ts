// What the guide on governed decisions runs: a stock keeper's tools, as the packs in `scenarios/write-off` name them.

// cut: config
import { type CapabilitySpec, defineCapability, defineConfig, type Json } from '../../src/index.ts'

const tool = (id: string, description: string, answer: Json, more: Partial<CapabilitySpec> = {}) =>
  defineCapability({ id, version: '1.0.0', description, ...more }, () => answer)

export default defineConfig({
  tenant: 'tenant_fjordvik',
  host: { port: 0 },
  capabilities: [
    tool('adp_stock.lookup', 'Looks a batch up.', { batch_id: 'bat_5120', site: 'north' }),
    tool('adp_count.verify', 'Says whether a batch was counted.', { verified: true }),
    tool('adp_notes.append', 'Adds a note.', null, { effects: ['note.write'] }),
    tool('adp_mail.notify_owner', 'Writes to the owner.', null, { effects: ['mail.send'], risk: 'medium' }),
    tool(
      'adp_ledger.post_write_off',
      'Writes a batch off.',
      { posting: 'led_1' },
      {
        effects: ['ledger.write'],
        risk: 'critical',
      },
    ),
    tool('adp_ledger.close_period', 'Closes the books.', null, { effects: ['ledger.write'], risk: 'critical' }),
  ],
  // The host lets all of it through to the rules of the packs, which are asked beside it.
  policies: [
    { name: 'stock', version: '1', applies_to: ['adp_*'], rules: [{ id: 'all', when: true, decision: 'allow' }] },
  ],
})
// end
