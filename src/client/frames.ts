/** One event of a stream as it was sent. */
export interface Frame {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** The events of a `text/event-stream` body, as they come; one that was cut short is left out. */
export async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame, void, undefined> {
  const utf8 = new TextDecoder()
  let text = ''
  for await (const bytes of chunksOf(body)) {
    text += utf8.decode(bytes, { stream: true })
    const parts = text.split(/\r?\n\r?\n/)
    text = parts.pop() ?? ''
    for (const part of parts) yield frameOf(part)
  }
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function frameOf(text: string): Frame {
  const fields = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf(':')
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).replace(/^ /, ''))
  }
  return { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data: fields.get('data') ?? '' }
}
