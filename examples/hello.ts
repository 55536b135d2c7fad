// cut: hello
import { createAmbit, defineCapability } from '../src/index.ts'

const greet = defineCapability({ id: 'desk.greet', version: '1.0.0', description: 'Greets.' }, () => 'Hello, Ada')
const ambit = await createAmbit({
  capabilities: [greet],
  policies: [
    { name: 'desk', version: '1', applies_to: ['desk.*'], rules: [{ id: 'all', when: true, decision: 'allow' }] },
  ],
})
const { outcome, data, correlation } = await ambit.call('desk.greet')
console.log(outcome, data)
const { events } = await ambit.evidence.list({ correlation: correlation.correlation_id })
for (const event of events) console.log(event.event_type, event.content_hash?.slice(0, 12))
await ambit.close()
// end
