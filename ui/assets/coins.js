// Two coins decide what leaves this device: the true answer, or its opposite if both show heads.
function tossCoins(truth) {
  const coins = [...crypto.getRandomValues(new Uint8Array(2))].map(byte => byte & 1), lie = coins[0] && coins[1];
  const sides = coins.map(coin => coin ? "heads" : "tails").join(" and "), bit = lie ? 1 - truth : truth;
  return {bit, message: `Your coins: ${sides}. The bit is ${lie ? "the opposite" : "your answer"}: ${bit ? "yes" : "no"}.`};
}
