//! What must hold for every document.
