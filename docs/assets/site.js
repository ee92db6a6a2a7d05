// Functions of every page: theme switch, copy buttons, this host's address in the examples, and navigation.
'use strict';

const root = document.documentElement;

/** The theme in use. */
function theme() {
  return root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

const toggle = document.getElementById('theme');
if (toggle) {
  const say = () => {
    toggle.textContent = theme() === 'dark' ? 'Light' : 'Dark';
    toggle.setAttribute('aria-label', `Switch to the ${toggle.textContent.toLowerCase()} theme`);
  };
  toggle.hidden = false;
  toggle.addEventListener('click', () => {
    root.dataset.theme = theme() === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem('theme', root.dataset.theme);
    } catch {
      // Without storage, the choice lasts until the page is left.
    }
    say();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', say);
  say();
}

// Put this host into the examples, so that they can be used unchanged.
for (const code of document.querySelectorAll('.code code')) {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.data.includes('https://risk.example')) text.data = text.data.replaceAll('https://risk.example', location.origin);
  }
}

/** Copies a text to the clipboard; returns whether that succeeded. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const blocks = document.querySelectorAll('.code');
if (blocks.length > 0) {
  // The button shows the result of copying, and this live region announces it to screen readers.
  const announcement = document.createElement('p');
  announcement.className = 'told';
  announcement.setAttribute('role', 'status');
  document.querySelector('main').append(announcement);
  for (const block of blocks) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      const code = block.querySelector('code').textContent;
      announcement.textContent = button.textContent = (await copied(code)) ? 'Copied' : 'Not copied';
      setTimeout(() => {
        button.textContent = 'Copy';
        announcement.textContent = '';
      }, 2000);
    });
    block.append(button);
  }
}

// Make a scrollable box focusable with Tab only while its content overflows.
const boxes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    if (scrolls) target.tabIndex = 0;
    else target.removeAttribute('tabindex');
  }
});
for (const box of document.querySelectorAll('.scroll, .code pre')) boxes.observe(box);

// Mark the part in view in the list of parts.
const links = new Map([...document.querySelectorAll('.parts a')].map((link) => [link.hash.slice(1), link]));
if (links.size > 0) {
  const seen = new Set();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) isIntersecting ? seen.add(target.id) : seen.delete(target.id);
      const first = [...links.keys()].find((anchor) => seen.has(anchor));
      if (!first) return;
      for (const [anchor, link] of links) anchor === first ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current');
    },
    { rootMargin: '-64px 0px -60% 0px' },
  );
  for (const anchor of links.keys()) {
    const heading = document.getElementById(anchor);
    if (heading) watch.observe(heading);
  }
}

// Scroll the navigation to the current page. `scrollIntoView` would also move the browser's starting point for Tab in some
// browsers, and Tab would then miss the skip link.
const nav = document.getElementById('nav');
const here = nav?.querySelector('[aria-current]');
if (here) {
  const [frame, place] = [nav.getBoundingClientRect(), here.getBoundingClientRect()];
  if (place.bottom > frame.bottom) nav.scrollTop += place.bottom - frame.bottom;
  else if (place.top < frame.top) nav.scrollTop -= frame.top - place.top;
}

// Escape closes the menu, as a link to an anchor of the same page does.
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && location.hash === '#nav') location.hash = '#main';
});
