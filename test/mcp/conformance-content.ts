// The resources and prompts that the public conformance suite of MCP reads.

import type { GetPromptResult, Prompt, ReadResourceResult, Resource } from '@modelcontextprotocol/server'
import type { Content } from '../../src/mcp/content.ts'

/** A picture of one point. */
export const imageData =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

export const text = (said: string) => ({ type: 'text' as const, text: said })

export const suiteContent: Content = {
  resources: () => resources,
  templates: () => [
    {
      uriTemplate: 'test://template/{id}/data',
      name: 'template',
      description: 'Data for an id.',
      mimeType: 'application/json',
    },
  ],
  read: async (uri) => contentsOf(uri),
  prompts: () => prompts,
  prompt: async (name, args) => messagesOf(name, args),
}

const resources: readonly Resource[] = [
  { uri: 'test://static-text', name: 'static text', description: 'A text.', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static binary', description: 'A picture.', mimeType: 'image/png' },
]

function contentsOf(uri: string): ReadResourceResult['contents'] | undefined {
  if (uri === 'test://static-text')
    return [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }]
  if (uri === 'test://static-binary') return [{ uri, mimeType: 'image/png', blob: imageData }]
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? []
  if (id === undefined) return undefined
  const data = { id, templateTest: true, data: `Data for ID: ${id}` }
  return [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }]
}

const argument = (name: string) => ({ name, description: `The argument ${name}.`, required: true })

const prompts: readonly Prompt[] = [
  { name: 'test_simple_prompt', description: 'A prompt without arguments.' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with two arguments.',
    arguments: [argument('arg1'), argument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource in it.',
    arguments: [argument('resourceUri')],
  },
  { name: 'test_prompt_with_image', description: 'A prompt with a picture in it.' },
]

const messages = (...contents: GetPromptResult['messages'][number]['content'][]): GetPromptResult => ({
  messages: contents.map((content) => ({ role: 'user', content })),
})

function messagesOf(name: string, args: Readonly<Record<string, string>>): GetPromptResult | undefined {
  const { arg1 = '', arg2 = '', resourceUri: uri = '' } = args
  switch (name) {
    case 'test_simple_prompt':
      return messages(text('This is a simple prompt for testing.'))
    case 'test_prompt_with_arguments':
      return messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))
    case 'test_prompt_with_embedded_resource': {
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }
      return messages({ type: 'resource', resource }, text('Please process the embedded resource above.'))
    }
    case 'test_prompt_with_image':
      return messages(
        { type: 'image', data: imageData, mimeType: 'image/png' },
        text('Please analyze the image above.'),
      )
    default:
      return undefined
  }
}
