import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import type { HttpRequestTemplate } from '../../model/config/upstream.ts'
import { isOurKey, isReserved, styles } from '../http/check.ts'
import { mediaOf } from '../http/media.ts'
import { readsAs } from '../http/names.ts'
import { type Found, followed, listOf, type OpenApi, textOf, Unmapped } from './document.ts'
import type { Credential, KeyPlaces } from './security.ts'

type Template = NonNullable<HttpRequestTemplate['parameters']>[number]

export interface Parameter {
  readonly template: Template
  readonly schema: Json
  readonly isRequired: boolean
}

const places = ['path', 'query', 'header', 'cookie'] as const

/** The parameters of an operation: those of its path, and its own in their stead, but for what is sent by other means. */
export function parametersOf(
  api: OpenApi,
  { path, method, item, operation }: Found,
  credentials: readonly Credential[],
  isKeyPlace: KeyPlaces,
): readonly Parameter[] {
  const found = new Map<string, JsonObject>()
  for (const parameter of [item, operation].flatMap(({ parameters }) => listOf(parameters))) {
    const read = followed(api, parameter, 'a parameter')
    found.set(`${textOf(read['in'])}:${textOf(read['name'])}`, read)
  }
  const isSent = ({ in: place, name, required }: JsonObject): boolean =>
    credentials.some(({ place: sent }) => sent.in === place && readsAs([sent.name])(textOf(name))) ||
    // No key is asked of a model where it can do without.
    (required !== true && isKeyPlace(textOf(place), textOf(name))) ||
    (place === 'header' && isOurKey(textOf(name), method))
  const wanted = [...found.values()].filter((parameter) => !isSent(parameter) && !isIgnored(parameter, path))
  return wanted.flatMap((parameter) => readParameter(api, parameter, memberOf(parameter, wanted)) ?? [])
}

/** As OpenAPI says; and what stands in no path fills none. */
const isIgnored = ({ in: place, name }: JsonObject, path: string): boolean =>
  (place === 'header' && ['accept', 'content-type', 'authorization'].includes(textOf(name).toLowerCase())) ||
  (place === 'path' && !path.includes(`{${textOf(name)}}`))

/** The member of the input: the name, unless another parameter has it too, or it is that of the body. */
function memberOf({ in: place, name }: JsonObject, all: readonly JsonObject[]): string {
  const text = textOf(name)
  const isTaken = text === 'body' || all.filter((other) => other['name'] === name).length > 1
  return isTaken ? `${textOf(place)}_${text}` : text
}

/** Undefined for one that can be left out and cannot be sent. */
function readParameter(api: OpenApi, parameter: JsonObject, from: string): Parameter | undefined {
  const name = textOf(parameter['name'])
  const place = places.find((known) => known === parameter['in'])
  const isRequired = place === 'path' || parameter['required'] === true
  const written = place && writtenAs(api, parameter, place)
  if (place === undefined || written === undefined || isReserved(name, place)) {
    if (isRequired || place === undefined) throw new Unmapped(`its parameter ${quote(name)} cannot be sent`)
    return undefined
  }
  const { style, explode, schema } = written
  const described = withDescription(schema, parameter)
  return { template: { name, in: place, from, style, explode }, schema: described, isRequired }
}

function writtenAs(api: OpenApi, parameter: JsonObject, place: Template['in']) {
  const { content, schema = {} } = parameter
  if (isJsonObject(content)) {
    const [type = '', media] = Object.entries(content)[0] ?? []
    if (mediaOf(type).kind !== 'json') return undefined
    return {
      style: 'json' as const,
      explode: false,
      schema: followed(api, media, 'the content of a parameter')['schema'] ?? {},
    }
  }
  const style = styles[place].find((known) => known === (parameter['style'] ?? styles[place][0]))
  if (style === undefined) return undefined
  const { explode = style === 'form' } = parameter
  return { style, explode: explode === true, schema }
}

/** What a parameter is for stands beside its schema. A reference alone keeps its meaning in both versions. */
const withDescription = (schema: Json, { description }: JsonObject): Json =>
  isJsonObject(schema) &&
  schema['$ref'] === undefined &&
  schema['description'] === undefined &&
  description !== undefined
    ? { ...schema, description }
    : schema
