import type { DecisionRecord } from '../../src/model/contract/decision.ts'

/** A record without what differs from run to run. */
export const comparable = (record: DecisionRecord): unknown =>
  JSON.parse(
    JSON.stringify(record)
      .replaceAll(/(run|dr|tool|pol|plan|apr|req|mp)_[0-9a-z]{1,26}(?:[ctp][0-9]+)*/g, '$1')
      .replaceAll(/\b(?:sha256:)?[0-9a-f]{64}/g, 'hash')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
      // What it is worth that a run was quick.
      .replaceAll(/"latency":[\d.]+/g, '"latency":1')
      .replaceAll(/"wall_clock_ms":\d+/g, '"wall_clock_ms":0'),
  )
