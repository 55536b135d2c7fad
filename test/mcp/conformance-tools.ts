// The tools that the public conformance suite of MCP calls, as capabilities.

import type { Json } from '../../src/base/canonical.ts'
import { type Capability, type CapabilitySpec, defineCapability } from '../../src/gateway/capability.ts'
import { imageData, text } from './conformance-content.ts'

const tool = (
  id: string,
  handler: (input: Readonly<Record<string, Json>>) => Json | AsyncGenerator<Json, Json, undefined>,
  spec: Partial<CapabilitySpec> = {},
): Capability =>
  defineCapability(
    { id, version: '1.0.0', description: `The tool ${id} of the conformance suite.`, policy: {}, effects: [], ...spec },
    (input) => handler((input ?? {}) as Record<string, Json>),
  )

/** One that people have to agree to: how a call of ours comes to need input. */
const approved = (id: string, said = 'done'): Capability =>
  tool(id, () => ({ content: [text(said)] }), { policy: { approval_required: true } })

const resource = (uri: string, mimeType: string, body: string): Json => ({
  type: 'resource',
  resource: { uri, mimeType, text: body },
})
const image: Json = { type: 'image', data: imageData, mimeType: 'image/png' }
const audio: Json = {
  type: 'audio',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=',
  mimeType: 'audio/wav',
}

async function* threeSteps(): AsyncGenerator<Json, Json, undefined> {
  for (const part of [0, 50, 100]) yield { progress: part }
  return { content: [text('all three steps are done')] }
}

/** Everything but what changes the list of tools itself. */
export const suiteTools: readonly Capability[] = [
  tool('test_simple_text', () => ({ content: [text('This is a simple text response for testing.')] })),
  tool('test_image_content', () => ({ content: [image] })),
  tool('test_audio_content', () => ({ content: [audio] })),
  tool('test_embedded_resource', () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  })),
  tool('test_multiple_content_types', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  })),
  tool('test_error_handling', () => {
    throw new Error('this tool fails whenever it is called')
  }),
  tool('test_tool_with_progress', () => threeSteps(), { modes: ['sync', 'stream'] }),
  tool('test_logging_tool', () => ({ content: [text('nothing was logged')] })),
  tool('json_schema_2020_12_tool', (input) => ({ content: [text(JSON.stringify(input))] }), { input: richSchema() }),
  tool('test_header_tool', (input) => ({ content: [text(String(input['region']))] }), {
    input: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
  }),
  approved('test_streaming_elicitation'),
  approved('test_input_required_result_elicitation'),
  approved('test_input_required_result_request_state', 'state-ok'),
  approved('test_input_required_result_tampered_state'),
  approved('test_input_required_result_multi_round'),
]

function richSchema() {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }
}

/** Changes what is offered when it is called. */
export const changingTool = (change: () => void): Capability =>
  tool('test_trigger_tool_change', () => {
    change()
    return { content: [text('the tools have changed')] }
  })

/** Comes and goes with the other. */
export const comingTool: Capability = tool('test_dynamic_tool', () => ({ content: [text('here for now')] }))
