"""The paper's table: built once as data (`build`), written in five formats (`render_*`)."""
