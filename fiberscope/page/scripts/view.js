/* What is looked at, kept in the part of the link behind its `#`: whoever opens the link sees the same. */
const View = (() => {
  const followers = [];
  const read = () => new URLSearchParams(location.hash.slice(1));
  const get = (key, otherwise = "") => read().get(key) ?? otherwise;

  function set(changes) {
    const kept = read();
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null) kept.delete(key);
      else kept.set(key, value);
    }
    history.replaceState(null, "", `#${kept}`);
    tell();
  }

  const tell = () => followers.forEach((follower) => follower());
  const follow = (follower) => followers.push(follower);
  addEventListener("hashchange", tell);
  return { get, set, follow };
})();
