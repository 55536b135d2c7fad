import assert from 'node:assert/strict'
import { test } from 'vitest'
import { objectHash } from '../base/hash.ts'
import { jsonSchemaOf, listSchemas } from './schemas.ts'

// A line that turns red asks: was this change of a wire or disk shape meant? Words for people are not pinned.
const pins: Readonly<Record<string, string>> = {
  actor: 'sha256:95ce168d8f47d00dd1974221963c61845458edde017fc2da65efea8e8fe91486',
  'anchor-list': 'sha256:baa1d626ec537155e0825ddfe637a2fa7f50e0638e408c6725b0717643a1e294',
  'anchor-receipt': 'sha256:6f93e46cc1155a16dba57b39ac8647a0e015e0862d8074b12fb688053c1215d3',
  'api-key': 'sha256:39c2055e8ca17b8b8fcaf1249994eb084fe7f0da1cbe900ee98e467fdb7daa4a',
  'approval-decision': 'sha256:21beecca2cbe209e233824a84e7a0b8dc0ca16275d884197c89bef4cd106b162',
  'approval-grant': 'sha256:23b9d18549775980d8061b2cf9255903077b87998f0cf6f471f31b36aeefe005',
  'approval-list': 'sha256:c9360f108672da4ee61d014f2d6aa055b4db869e223f31af0647e4da7351a4c0',
  'approval-request': 'sha256:e18be0e4f0b5c93e8d082e6462478f3d03580a468a9ebbe8efc5c845a8901332',
  'approval-vote': 'sha256:312df0723f90e0fd6fc1820a999772fd41d0586874c2f3f082ca481b868e1a84',
  approver: 'sha256:9b94f330ef04b739c3bc4908ff0ead59300733105d402c8b5dd01c4f13202e71',
  'auth-token': 'sha256:05b096c338fab06f48240fee4f637943a034c5d255c3a1c9f23c6af259d66136',
  'call-error': 'sha256:d2515ac1a90c2dddd009c9d453e90f29890e191d3095809e659de0d984eea6e0',
  'call-preview': 'sha256:167fa6db8e02cd96e021fcdf3dbb433dc614cc682e83e465ac7fca2ca5796284',
  'call-record': 'sha256:4943d852451dc6e225c85bb0654368310f3ae447847822d6970189c9458bd1bd',
  'capability-descriptor': 'sha256:1b4fd860b69f238d5fb58edbde20c368ea9b1cc2f296c48136c417373fbeef70',
  'capability-list': 'sha256:5b7054f7141905b6bb00876534cb13349827aa29df2206c81a0b0b88abcec79b',
  'capability-metadata': 'sha256:46deae04a74aaf6c082720b3f11e68cfc5cff7ed76ea68da0b570c040bec5c74',
  'chain-report': 'sha256:45608fb2901114897f0adba405e6db140ea840376220262780d1dee923694056',
  'chain-witness': 'sha256:6ee19f20e08d16fb7c193a94b30aa88c0cc847d27d5261001d78ecf2e00c6aeb',
  checkpoint: 'sha256:7669f8d35eff808980f61ff055970e59327db21af08f863f6dfc7957f3c92dfa',
  config: 'sha256:8ce2c814416dd2812975172e48eb4e9f18d3f43164955b7e784ca5b94ba72c64',
  'context-contract': 'sha256:6ba92f5bc78b68c4efe25db3a504907ba533d6123971671502c299145cbfee67',
  correlation: 'sha256:82d9dd08f3425a35e24210a96a34233b83a560034cad5ffb5828273ca0662a53',
  denial: 'sha256:e827eacf0de073e84f8cb7f1afbd6e4a5cd600ae5037ea24246825bb0201ef2a',
  'dsse-envelope': 'sha256:1ed082fc0534b997076f7a373885743e5dc8e0e7ad77fd4e367e437e379109c2',
  'evidence-bundle': 'sha256:c0aa9dff1258371d5b07b9250cd0f6db937de99d95c6dd23e0f6db879647b6b0',
  'evidence-bundle-received': 'sha256:541fcd6f760dd63dfbef9f3961d8e4b4b1a3a3c9e7bb466835ab0a299bd0e129',
  'evidence-event': 'sha256:6e22cac3606f90d829723344b333ad6fc6b93d4fccdaa0e0a8bd4261b1b78708',
  'evidence-event-received': 'sha256:84ea70101ef467d33ce86a2d925b39ba3e2b553576dca25303f7291624e6d097',
  grant: 'sha256:620e1c3ffdd467842d86833fe6ce3a017d409016920c1318abf569e1d576fe9f',
  'grant-path': 'sha256:0a1189b7f0cb0239e3cce7f4d0dd5ff18179087dee62a6d61c62342798455de0',
  health: 'sha256:7bac46a0dec4214fe93010dc7a1f45028b7b9cefc5613226a37da1cb86509f1e',
  'host-descriptor': 'sha256:71260018b583a2a840676ecce86f42197278f625ec41bbed5ba3ab9be01f3383',
  'host-identity': 'sha256:83b1f1ac58b5d5d9e43b2e140b5f1829d03b12d59e7d1a2d904fb28d6e450327',
  'identity-document': 'sha256:d50d244be1415ea6783d2d11b9ac41add4f5cf656b98158da0ec99290b8db239',
  'invocation-envelope': 'sha256:b31f5469806fbbe2124c7875ba84f1f4ae44ddd6d61ba2eb90cccb043c4efd96',
  'invocation-envelope-received': 'sha256:1d0f6fc8fca3a21b7dc6e1f18f4b1b806f791bfe3e1e20a74482bcc7bc620131',
  'invocation-result': 'sha256:bd0e8ced26689d77d98976ff401147c94a4db78220ca7fd93f72bd6d48b6c5a8',
  'issued-key': 'sha256:47bbd2882415ffb363bc3b2ed677b998c901c3edeeb1fd7e5efde4f5f0386e84',
  'key-rotation': 'sha256:83f57d19170f49f37d877b4c691d31fc928f137979bc214b36c062e9f8f8ca9b',
  mandate: 'sha256:40cd3a84a1d3d9e85b45e6b4bec6ff09c02c235fa2a4a109e68735f98971b81f',
  'mandate-revocation': 'sha256:cfffddd838df9b7a1fc4c0be6c3bc87dab2ceb968502b3cf59d478ce2688ba1d',
  policy: 'sha256:00f72fb5a8ba5c429e3ecb087725543f0d784aaa8a4b1322ee099cfceca458f7',
  'policy-test': 'sha256:b28e6de33d93b0bea841cd1a432d00b6f735972457ebb4f68929332493e857f9',
  principal: 'sha256:55e44ed52e897a259d80773604952cd06fe035d51e89196b48da40120d432793',
  problem: 'sha256:b3d670c279cfd33e58815082fa0e76818396db71e3e0fc42494d4189de8fe3ff',
  'replay-query': 'sha256:8657da670a120d1a5ffb14421b1ea7b2b56d2b9861b0f1b23574e2932df662c2',
  'replay-result': 'sha256:a3985b8b25d89fddc65fdcd589dc854c97e4a293f0cd3a1f3c38850d440e8051',
  'revocation-list': 'sha256:1d04f157ee9d6514d051afe86f4f7adca60c56bfb2be0165a8ca0cb88cd2792a',
  'revocation-receipt': 'sha256:a117fcef0bae905c84df122e0d7a31b4296b198ee9c297c59d2b70e2c97a9d8a',
  'signing-key': 'sha256:66d006980eb12ab2fc612959365d338236b70f5c3234321a66831b328c6c050d',
  'store-head': 'sha256:99fca7681e5c078045554bc976906182d7f454a3280ac396f82363b29315db1f',
  'store-head-anchor': 'sha256:727b111fe4fd42bb5a219cf4e239952c382dd5f15e5b9197d879aeb80ba86a54',
  subject: 'sha256:479d9348efaa2fe55017629b688ce397744f1881771ca3dcb5cee94040c2d070',
  'task-bundle': 'sha256:c7e7fa803ff7db8a1593edf866b8256f485b1b291aae2069fa850fe284cd13d4',
  tenant: 'sha256:9ef51bea0e84d72082c873546a45c171a04fa7dc517efcb6653390b94e9d1003',
  'answer-suite': 'sha256:21d1a3d296d381d6697011d072f8b0767481c958c4d2a8d54aab42022d51dae4',
  'compile-run': 'sha256:e1161ae6c7a1db7a0c28eb245c832fafcfbf63363f98f99389fb49952470a8bd',
  'context-resolution': 'sha256:ac35adaddc987ff25e9316e61df380f00e71129b66df5d4db1b3ed4fcc66c293',
  'resolution-trace': 'sha256:e92d6c93cea66aa33ad6206a873bffeb102e73508088f4b2e563e98557e61f2f',
  'selection-result': 'sha256:84cf98cbdaadc480c69222aa81d9f6610a00d399acde48b59645fe739836c066',
  'selection-suite': 'sha256:00383421d8cbc75d75aff9b344e3bbc1fb934436133206c38e246be074f85aca',
  'source-map': 'sha256:bf669541bac5ce2e3a700c54dd871f1459e6821bb914f2bec97c22dad5e779e8',
  upstream: 'sha256:81b7f14ab790bd1ab9951a23890340b60146bbe16b0e1534b1b0d9114d4ee7c7',
  'wire-error': 'sha256:b29a871bd8f0b2a896f4f789eecf976d8712e091b80315cd66165859257f3a69',
  'witness-list': 'sha256:e6a3e6e4f19fadd35896694b599d67adc1c204e201009a07d8b6caecc350e9e5',
  'witness-receipt': 'sha256:b9eafedf1632338a0be8acc77a1f2113dbccf7be3fe768a30c9c044a12247cb3',
}

test('no shape changes unnoticed [F-06]', () => {
  const found = listSchemas().map(({ name }) => {
    const { title, description, ...shape } = jsonSchemaOf(name)
    return [name, objectHash(shape)]
  })
  assert.deepEqual(Object.fromEntries(found), pins)
})
