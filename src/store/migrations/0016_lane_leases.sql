-- Whoever accepts orders hands out nonces, and whoever works on a lane writes down what became of them. Each had to wait
-- for the other at the one row of the lane, though neither touches what the other holds.
create table lane_leases (
  chain_id bigint not null,
  signer text not null,
  -- Raised by each worker that takes the lane: one whose lease ran out no longer knows the number, and writes nothing.
  fence bigint not null default 0,
  leased_until timestamptz(3) not null default '-infinity',
  primary key (chain_id, signer),
  foreign key (chain_id, signer) references nonce_lanes
);
insert into lane_leases (chain_id, signer, fence, leased_until)
select chain_id, signer, fence, leased_until from nonce_lanes;
alter table nonce_lanes drop column fence, drop column leased_until;
