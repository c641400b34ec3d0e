-- Both groups have a createPayment and a createTransfer, so the name of an operation begins with its
-- group. Keys that are stored stay with the operation that answered them: only Group A answers with
-- everything below "data".
update idempotent_requests set operation = case
  when operation in ('createSubscription', 'createWallet', 'rotateSubscriptionSecret', 'createMint',
      'replayDelivery', 'createRecipientAddress') then 'a.'
  when operation in ('createPayment', 'createTransfer') and body like '{"data":%' then 'a.'
  else 'b.'
end || operation;
