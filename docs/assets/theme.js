// The chosen theme, before anything is drawn. Only the choice is stored, never a key.
'use strict';
document.documentElement.classList.add('scripted');
try {
  const chosen = localStorage.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that stores nothing follows the system.
}
