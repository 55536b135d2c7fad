import type { Json } from '../../base/canonical.ts'
import { isJsonObject } from '../../base/object.ts'
import type { HttpRequestTemplate } from '../../model/config/upstream.ts'
import { forms, mediaOf } from './media.ts'
import { asPairs, encoded, isList, itemsOf, plain, refuse } from './styles.ts'

type Template = NonNullable<HttpRequestTemplate['body']>

type Body = { readonly bytes: Uint8Array; readonly type: string }

/** A value as the body of a request. Bytes are base64 text; in a form, `{base64, filename, content_type}` is a file. */
export async function bodyOf(value: Json, { type, from: name, encoding }: Template): Promise<Body> {
  const media = mediaOf(type)
  if (media.kind === 'json') return { type, bytes: utf8(JSON.stringify(value)) }
  if (media.essence === forms[0]) return { type, bytes: utf8(formOf(value, name, encoding)) }
  if (media.kind === 'form') return await multipartOf(value, name)
  return { type, bytes: media.kind === 'text' ? utf8(plain(value, name)) : bytesOf(value, name) }
}

const utf8 = (text: string): Uint8Array => Buffer.from(text.toWellFormed())

/** Members that are not simple are JSON, as in OpenAPI, unless the template says how else they are written. */
function formOf(value: Json, name: string, encoding: Template['encoding'] = {}): string {
  if (!isJsonObject(value)) return refuse(name, 'an object')
  const fields = Object.entries(value).map(([key, member = null]) => {
    const { style = 'form', explode = style === 'form' } = Object.hasOwn(encoding, key) ? (encoding[key] ?? {}) : {}
    const isStyled = style === 'deepObject' ? isJsonObject(member) : isList(member) && !explode
    if (isStyled)
      return asPairs(style, { name: key, value: member, explode, write: encoded }).map((pair) => pair.join('='))
    return new URLSearchParams(itemsOf(member).map((item): [string, string] => [key, textOf(item)])).toString()
  })
  return fields.flat().filter(Boolean).join('&')
}

async function multipartOf(value: Json, name: string): Promise<Body> {
  if (!isJsonObject(value)) return refuse(name, 'an object')
  const form = new FormData()
  // A list is one field per item.
  for (const [key, member = null] of Object.entries(value))
    for (const item of itemsOf(member)) {
      if (isFile(item)) {
        const type = typeof item.content_type === 'string' ? item.content_type : 'application/octet-stream'
        const filename = typeof item.filename === 'string' ? item.filename : 'file'
        form.append(key, new Blob([bytesOf(item.base64, key)], { type }), filename)
      } else if (isJsonObject(item)) form.append(key, new Blob([JSON.stringify(item)], { type: 'application/json' }))
      else form.append(key, textOf(item))
    }
  // The platform chooses the boundary and escapes the names.
  const made = new Response(form)
  return { type: made.headers.get('content-type') ?? '', bytes: new Uint8Array(await made.arrayBuffer()) }
}

const textOf = (item: Json): string =>
  item === null ? '' : typeof item === 'object' ? JSON.stringify(item) : String(item)

type FilePart = { readonly base64: Json; readonly filename?: Json; readonly content_type?: Json }

const isFile = (item: Json): item is Extract<Json, object> & FilePart =>
  isJsonObject(item) &&
  typeof item['base64'] === 'string' &&
  Object.keys(item).every((key) => ['base64', 'filename', 'content_type'].includes(key))

function bytesOf(value: Json, name: string): Uint8Array<ArrayBuffer> {
  if (typeof value !== 'string' || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value))
    return refuse(name, 'bytes as base64 text')
  return Uint8Array.from(Buffer.from(value, 'base64'))
}
